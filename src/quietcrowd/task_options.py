"""Options per task: the possible labels of each task, if tasks have different ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.answer_errors import ADVICE, AdviceName, mark_note, plain_type
from quietcrowd.domains import Categorical, Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import (
    Backend,
    as_frame,
    column_of,
    dictionary_codes,
    positions_by_text,
    to_native,
    with_usual_names,
)
from quietcrowd.intake import MISSING, Intake, distinct

_MOST_NAMED = 6
"""Maximum number of options in a message."""


@frozen(kw_only=True, eq=False, slots=False)
class TaskOptions:
    """The possible labels of each task. They are public, and fixed before workers answer.

    Build it with `TaskOptions.read`, or pass the options to `Answers.from_frame`.

    Attributes
    ----------
    domain : Categorical or Ordinal
        The labels of all tasks.
    tasks : pyarrow.Array
        Unique ids.
    offsets : ndarray of int64, shape (tasks + 1,)
        The options of task ``t`` are ``codes[offsets[t] : offsets[t + 1]]``.
    codes : ndarray of int64, shape (options,)
        Positions of the options in the domain, in the order given.
    """

    domain: FiniteDomain
    tasks: pa.Array
    offsets: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]

    @classmethod
    def read(
        cls, options: Any, domain: Domain | None = None, *, missing: Iterable[str] = MISSING
    ) -> TaskOptions:
        """Read options from a mapping of tasks to labels, or a frame with a row per option.

        Parameters
        ----------
        options : mapping, dataframe or TaskOptions
            A frame has columns ``task`` and ``label``. Options keep their order; sets are sorted.
        domain : Categorical or Ordinal, optional
            All labels. Default: those of the options.
        missing : iterable of str
            See `Answers.from_frame`.

        Raises
        ------
        AnswerError
            If a column, an id or a label is missing, an option is repeated or outside the domain,
            or the domain is numeric.

        Examples
        --------
        >>> options = TaskOptions.read({"q1": ["cat", "dog"], "q2": ["oak", "elm", "fir"]})
        >>> options.sizes.tolist(), options.domain.size
        ([2, 3], 5)
        """
        if domain is not None and not isinstance(domain, FiniteDomain):
            raise AnswerError("answers.options-need-labels", domain=domain.describe())
        if isinstance(options, cls):
            if domain in (None, options.domain):
                return options
            options = options.to_frame("pyarrow")
        if isinstance(options, Mapping):
            options = _table_of(_listed(options))
        known = () if domain is None else domain.labels
        try:
            tasks, labels = _columns(options, known, Intake(missing))
        except AnswerError as error:
            raise AnswerError("answers.in-options", error=error) from None
        return cls._of_columns(tasks, labels, domain)

    @classmethod
    def _of_columns(
        cls, tasks: pa.ChunkedArray, labels: pa.ChunkedArray, domain: FiniteDomain | None
    ) -> TaskOptions:
        places, ids = dictionary_codes(tasks)
        known = domain or Categorical(distinct(labels).to_pylist())
        codes, inside = known.encode(labels)
        if not inside.all():
            row = int(np.argmin(inside))
            task, value = ids[places[row]].as_py(), labels[row].as_py()
            raise AnswerError(
                "answers.option-outside-domain", task=task, value=value, domain=known.describe()
            )
        order = np.argsort(places, kind="stable")
        cells = places.astype(np.int64) * known.size + codes
        _, first = np.unique(cells, return_index=True)
        if len(first) < len(cells):
            row = int(np.setdiff1d(np.arange(len(cells)), first)[0])
            task, value = ids[places[row]].as_py(), labels[row].as_py()
            raise AnswerError("answers.option-repeated", task=task, value=value)
        counts = np.bincount(places, minlength=len(ids))
        return cls(
            domain=known,
            tasks=ids.cast(plain_type(ids.type)),
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            codes=codes[order].astype(np.int64),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], domain: FiniteDomain) -> TaskOptions:
        """Return the options that `to_dict` described; errors as in `read`."""
        listed = zip(data["tasks"], data["options"], strict=True)
        table = _table_of([(task, label) for task, labels in listed for label in labels])
        return cls._of_columns(table["task"], table["label"], domain)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description, without the domain."""
        labels = self.domain.labels
        lists = np.split(self.codes, self.offsets[1:-1]) if len(self) else []
        listed = [[labels[code] for code in codes.tolist()] for codes in lists]
        return {"tasks": self._texts.to_pylist(), "options": listed}

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return a dataframe with columns ``task`` and ``label``, one row per option."""
        columns = {
            "task": self.tasks.take(pa.array(self.task_codes)),
            "label": self.domain.decode(self.codes),
        }
        return to_native(columns, backend)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of options per task, shape (tasks,)."""
        return np.diff(self.offsets)

    @property
    def task_codes(self) -> npt.NDArray[np.int64]:
        """Position in `tasks` of every option, shape (options,)."""
        return np.repeat(np.arange(len(self.tasks)), self.sizes)

    def positions(
        self, task_codes: npt.NDArray[Any], values: npt.NDArray[Any]
    ) -> npt.NDArray[np.int64]:
        """Return the position of each answer among the options of its task, or -1."""
        order, keys = self._sorted_keys
        if not len(keys):
            return np.full(len(values), -1)
        wanted = task_codes.astype(np.int64) * self.domain.size + values
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        positions = order[places] - self.offsets[task_codes]
        return np.where(keys[places] == wanted, positions, -1)

    def at(
        self, task_codes: npt.NDArray[Any], positions: npt.NDArray[Any]
    ) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the codes of the options at `positions` of tasks: the inverse of `positions`."""
        codes: npt.NDArray[Any] = self.codes[self.offsets[task_codes] + positions.astype(np.int64)]
        return codes.astype(self.domain.dtype)

    def describe(self, task: int) -> str:
        """Return the options of a task in words, for messages."""
        codes = self.codes[self.offsets[task] : self.offsets[task + 1]]
        shown = ", ".join(repr(self.domain.labels[code]) for code in codes[:_MOST_NAMED])
        return shown + (f", … ({len(codes)} options)" if len(codes) > _MOST_NAMED else "")

    def take(self, tasks: pa.Array, rows: npt.NDArray[np.int32] | None = None) -> TaskOptions:
        """Return the options of some tasks in their order; ids match if their text does.

        `rows` are the places of tasks in a frame, for the message if a task has no options.
        """
        places = positions_by_text(tasks, self.tasks)
        if (places < 0).any():
            stranger = int(np.argmin(places))
            found = [] if rows is None else np.flatnonzero(rows == stranger).tolist()
            raise AnswerError(
                "answers.task-without-options",
                place=f"row {found[0]}: " if found else "",
                task=tasks[stranger].as_py(),
            )
        sizes = self.sizes[places]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        codes = self.codes[np.repeat(self.offsets[places], sizes) + within]
        return TaskOptions(domain=self.domain, tasks=tasks, offsets=offsets, codes=codes)

    @property
    def canonical(self) -> TaskOptions:
        """The same options, with tasks sorted by the text of their ids."""
        texts = self._texts
        return self.take(texts.take(pc.sort_indices(texts)))

    @property
    def _texts(self) -> pa.Array:
        return self.tasks.cast(pa.string())

    @cached_property
    def _sorted_keys(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
        keys = self.task_codes * self.domain.size + self.codes
        order = np.argsort(keys)
        return order, keys[order]

    def __len__(self) -> int:
        return len(self.tasks)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TaskOptions)
            and self.domain == other.domain
            and self._texts.equals(other._texts)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.codes, other.codes)
        )

    def __hash__(self) -> int:
        return hash((self.domain, self.offsets.tobytes(), self.codes.tobytes()))

    def __repr__(self) -> str:
        return (
            f"TaskOptions({len(self):,} tasks, {len(self.codes) / max(len(self), 1):.1f} options "
            f"each, domain={self.domain.example()})"
        )


def _columns(
    options: Any, known: Iterable[Any], intake: Intake
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return clean tasks and labels of a frame."""
    frame = with_usual_names(as_frame(options))
    advice = "Options are a table with columns task and label."
    tasks, raw = (column_of(frame, name, advice) for name in ("task", "label"))
    if not len(tasks):
        raise AnswerError("answers.options-empty")
    ids = intake.ids(tasks, "task")
    labels = intake.encoded(raw, "label", known)
    if labels.null_count:
        row = labels.is_null().index(True).as_py()
        raise AnswerError("answers.option-missing", row=row, mark=mark_note(raw, row))
    intake.warn()
    return ids, labels


def outside_options(
    column: Any,
    name: str,
    where: tuple[int, str, int],
    options: TaskOptions,
    *,
    advice: AdviceName,
) -> AnswerError:
    """Return the error for an answer outside the options; `where` is row, task column and task."""
    row, task, code = where
    return AnswerError(
        "answers.answer-outside-options",
        row=row,
        name=name,
        value=column[row].as_py(),
        task=options.tasks[code].as_py(),
        task_name=task,
        options=options.describe(code),
        advice=ADVICE[advice].options,
    )


def _listed(options: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each task and option of a mapping."""
    for task, labels in options.items():
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise AnswerError("answers.options-not-a-list", task=task, labels=labels)
        ordered = sorted(labels, key=str) if isinstance(labels, set | frozenset) else labels
        yield from ((task, label) for label in ordered)


def _table_of(rows: Iterable[tuple[Any, Any]]) -> pa.Table:
    listed = list(rows)
    if not listed:
        raise AnswerError("answers.options-empty")
    try:
        columns = zip(*listed, strict=True)
        return pa.table(dict(zip(("task", "label"), map(pa.array, columns), strict=True)))
    except (pa.ArrowException, OverflowError) as error:
        raise AnswerError("answers.options-of-several-types", error=error) from None
