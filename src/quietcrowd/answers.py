"""The sparse table of answers by task and worker.

Rows are sorted by task, then by worker. Ids are in the order of their first row.
`Answers.canonical` sorts ids too, so that the order of rows depends only on ids; reports have that
order.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, field, frozen

from quietcrowd.answer_errors import (
    ADVICE,
    AdviceName,
)
from quietcrowd.answer_rows import encoded_rows
from quietcrowd.comparisons import SIDES, SIDES_AND_TIE, Ties, comparison_rows
from quietcrowd.domains import Domain, Interval
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import (
    Backend,
    Duplicates,
    offsets_of,
    sort_rows,
    to_native,
)
from quietcrowd.intake import MISSING, Intake
from quietcrowd.several_labels import label_set_rows, one_task_per_label
from quietcrowd.task_options import TaskOptions, outside_options
from quietcrowd.validation import check_choice

if TYPE_CHECKING:
    from quietcrowd.description import Description

OutOfDomain: TypeAlias = Literal["error", "skip"]


@frozen(kw_only=True)
class DroppedRows:
    """Numbers of rows that were dropped.

    Attributes
    ----------
    duplicates : int
        Rows that repeat a (task, worker) pair.
    out_of_domain : int
        Rows with a missing answer or one outside the domain.
    null_reports : int
        NULL reports, dropped for a method without a model of them.
    """

    duplicates: int = 0
    out_of_domain: int = 0
    null_reports: int = 0


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only array, which is a copy if the given array is writable."""
    own = np.array(array, order="C", copy=True if array.flags.writeable else None)
    own.flags.writeable = False
    return own


def _read_only_offsets(array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return _read_only(np.asarray(array, np.int64))


def _read_only_codes(array: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    return _read_only(np.asarray(array, np.int32))


@frozen(kw_only=True, eq=False, slots=False)
class Answers:
    """An immutable table of answers, one row per (task, worker) pair.

    Build it with `Answers.from_frame`, or with `quietcrowd.read_answers` from a file.

    Attributes
    ----------
    domain : Domain
        Domain of the answers.
    tasks, workers : pyarrow.Array
        Unique ids, which may have no answer.
    offsets : ndarray of int64, shape (tasks + 1,)
        The rows of task ``t`` are ``offsets[t]`` to ``offsets[t + 1] - 1``.
    worker_codes : ndarray of int32, shape (answers,)
        Position in `workers`; increasing within a task.
    values : ndarray, shape (answers,)
        Position of the label in a finite domain, or the number.
    dropped : DroppedRows
        Numbers of rows that were dropped on input.
    options : TaskOptions or None
        The possible labels of each task, in the order of `tasks`, if tasks have different ones.
    """

    domain: Domain
    tasks: pa.Array
    workers: pa.Array
    offsets: npt.NDArray[np.int64] = field(converter=_read_only_offsets)
    worker_codes: npt.NDArray[np.int32] = field(converter=_read_only_codes)
    values: npt.NDArray[Any] = field(converter=_read_only)
    dropped: DroppedRows = DroppedRows()
    options: TaskOptions | None = None

    def __attrs_post_init__(self) -> None:
        """Check the arrays, because compiled loops do not check bounds."""
        rows = len(self.values)
        if not (
            len(self.offsets) == len(self.tasks) + 1
            and self.offsets[0] == 0
            and self.offsets[-1] == rows == len(self.worker_codes)
            and (np.diff(self.offsets) >= 0).all()
        ):
            raise AnswerError("answers.offsets-invalid", rows=rows, count=len(self.tasks) + 1)
        for name, ids in (("tasks", self.tasks), ("workers", self.workers)):
            if ids.null_count or len(ids.unique()) < len(ids):
                raise AnswerError("answers.ids-not-unique", name=name)
        if rows and not 0 <= self.worker_codes.min() <= self.worker_codes.max() < len(self.workers):
            raise AnswerError("answers.worker-codes-out-of-range", count=len(self.workers))
        if not self.domain.holds(self.values):
            raise AnswerError("answers.values-outside-domain", domain=self.domain.describe())
        if self.options is not None and not self._fit(self.options):
            raise AnswerError("answers.options-of-other-tasks")

    def _fit(self, options: TaskOptions) -> bool:
        return (
            options.domain == self.domain
            and options.tasks.equals(self.tasks)
            and bool((options.positions(self.task_codes, self.values) >= 0).all())
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        domain: Domain | None = None,
        task: str = "task",
        worker: str = "worker",
        label: str = "label",
        *,
        tasks: Iterable[Any] | None = None,
        workers: Iterable[Any] | None = None,
        duplicates: Duplicates = "error",
        out_of_domain: OutOfDomain = "error",
        missing: Iterable[str] = MISSING,
        options: Any = None,
        advice: AdviceName = "answers",
    ) -> Answers:
        """Read answers from a dataframe.

        Parameters
        ----------
        frame : pandas, Polars or PyArrow dataframe
            One row per answer. A lazy Polars frame is collected by the streaming engine.
        domain : Domain
            Domain of the answers. Only if `options` are given, it may be omitted.
        task, worker, label : str
            Names of the columns. By default, ``taskId``, ``performer`` or ``workerId``, and
            ``answer`` replace missing ones.
        tasks, workers : iterable, optional
            All ids in the wanted order, including those without an answer; ids match if their text
            does. Default: the ids in the frame, in the order of their first row. If both are given,
            the frame may be empty.
        duplicates : {"error", "first", "last"}
            Treatment of repeated answers of a worker to a task. They are in the order of rows, or
            of times in a column ``updated_at``, ``created_at`` or ``submitted_at``.
        out_of_domain : {"error", "skip"}
            Treatment of answers that are missing or outside the domain. A skipped one is visible
            after randomization, because its report is missing; see `Mechanism.randomize`.
        missing : iterable of str
            Texts that mark a missing value, like the empty text, unless they are in the domain,
            `tasks` or `workers`. Default: those of pandas, such as "NA" and "None".
        options : mapping, dataframe or TaskOptions, optional
            The possible labels of each task, which are public: a mapping, or a frame with columns
            ``task`` and ``label``. Other answers are outside the domain. Inference and
            randomization restrict each task to its options.
        advice : str
            Selects the remedies in errors, see `ADVICE`. Reports must not be dropped, and claims
            for release must not be dropped because of their values.

        Returns
        -------
        Answers
            ``answers.dropped`` counts dropped rows.

        Raises
        ------
        AnswerError
            If a column, an id, an answer or a task's options are missing, an id is not listed, an
            answer is outside the domain, a (task, worker) pair is repeated, the frame is empty and
            tasks or workers are not listed, or it contains reports, which `reports_from_frame`
            reads. The message names the row, from 0, and the column.

        Warns
        -----
        ChangedValuesWarning
            If texts mark missing values, or lose invisible characters or surrounding spaces.

        Examples
        --------
        >>> import pandas as pd
        >>> from quietcrowd.domains import Categorical
        >>> frame = pd.DataFrame({"task": [7, 7, 8], "worker": ["a", "b", "a"], "label": [1, 0, 1]})
        >>> Answers.from_frame(frame, Categorical([0, 1]))
        Answers(3 answers, 2 tasks, 2 workers, domain=Categorical([0, 1]))
        """
        listed = None if options is None else TaskOptions.read(options, domain, missing=missing)
        if listed is not None:
            domain = listed.domain
        if not isinstance(domain, Domain):
            raise ParameterError("answers.not-a-domain", domain=domain)
        check_choice("duplicates", duplicates, ("error", "first", "last"))
        check_choice("out_of_domain", out_of_domain, ("error", "skip"))
        check_choice("advice", advice, list(ADVICE))
        intake = None if advice == "reports" else Intake(missing)
        names, lists = (task, worker, label), (tasks, workers)
        rows = encoded_rows(frame, names, lists, domain, intake, advice)
        if listed is not None:
            listed = listed.take(rows.tasks, rows.task_codes)
            rows.inside[listed.positions(rows.task_codes, rows.values) < 0] = False
        skipped = int(len(rows.inside) - rows.inside.sum())
        if skipped and out_of_domain == "error":
            raise rows.outside(domain, listed, advice)
        if skipped == len(rows.inside) and None in lists:
            raise AnswerError("answers.all-outside-domain", domain=domain.describe())
        order, sorted_tasks, sorted_workers, repeated = rows.ordered(duplicates, advice)
        if intake is not None:
            intake.warn()
        return cls(
            domain=domain,
            tasks=rows.tasks,
            workers=rows.workers,
            offsets=offsets_of(sorted_tasks, len(rows.tasks)),
            worker_codes=sorted_workers,
            values=rows.values[order],
            dropped=DroppedRows(duplicates=repeated, out_of_domain=skipped),
            options=listed,
        )

    @classmethod
    def from_comparisons(
        cls,
        frame: Any,
        *,
        worker: str = "worker",
        left: str = "left",
        right: str = "right",
        label: str = "label",
        duplicates: Duplicates = "error",
        ties: Ties = "error",
    ) -> Answers:
        """Read paired comparisons as answers that any mechanism for labels can randomize.

        The pair and its order are public, because the worker was shown them. The answer is the
        preferred side, "left" or "right"; a task is named by its pair, such as "tea | coffee". Each
        comparison is an answer, and a worker's privacy loss adds up over comparisons.

        Parameters
        ----------
        frame : pandas, Polars or PyArrow dataframe
            One row per comparison: worker, two items, chosen item. The label may also be "left" or
            "right", the name of the chosen item's column, or a tie: "tie", "tie (bothbad)",
            "both_bad" or "draw", unless an item of the row is so named.
        worker, left, right, label : str
            Names of the four columns. Aliases are ``performer``, ``workerId`` and ``judge`` of
            ``worker``, ``model_a`` and ``model_b`` of the items, and ``winner`` of ``label``.
        duplicates : {"error", "first", "last"}
            Treatment of repeated comparisons by a worker of a pair in one order.
        ties : {"error", "keep"}
            Treatment of ties, which cannot be randomized as a side. ``keep`` adds the label "tie"
            to the domain; `BradleyTerry` counts it half to each item if it is non-private.

        Raises
        ------
        AnswerError
            If a cell is missing, an item is compared with itself, the label is neither item or is
            ambiguous, an item is empty or contains " | ", or as in `from_frame`.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame(
        ...     {"worker": ["ann"], "left": ["tea"], "right": ["coffee"], "label": ["coffee"]}
        ... )
        >>> Answers.from_comparisons(frame).to_frame()
                   task worker  label
        0  tea | coffee    ann  right
        """
        check_choice("ties", ties, ("error", "keep"))
        table = comparison_rows(frame, (worker, left, right, label), ties)
        domain = SIDES if ties == "error" else SIDES_AND_TIE
        return cls.from_frame(
            table, domain, *table.column_names, duplicates=duplicates, advice="comparisons"
        )

    @classmethod
    def from_wide(
        cls,
        frame: Any,
        domain: Domain,
        *,
        worker: str | None = None,
        task: str | None = None,
        questions: str | Iterable[str] | None = None,
        ignore: str | Iterable[str] = (),
        rejected: bool = False,
        missing: Iterable[str] = MISSING,
        **options: Any,
    ) -> Answers:
        """Read answers from a table with a row per worker or a column per worker.

        Empty cells are missing answers. Exports of Google Forms, Qualtrics, KoboToolbox, ODK and
        studies on Prolific need neither `worker` nor `task`.

        Parameters
        ----------
        frame : pandas, Polars or PyArrow dataframe
            One row per respondent and one column per question, or a row per task and a column per
            worker. Ids are in a column, not in the index.
        domain : Domain
            Domain of the answers to all questions that are read.
        worker : str, optional
            Column of workers, if a row is a worker. If a survey without one is recognized, or all
            columns are questions, rows are numbered from 1.
        task : str, optional
            Column of tasks, if a row is a task and each of the other columns is a worker.
        questions : str or iterable of str, optional
            Columns of answers, if a row is a worker: names or patterns such as ``"stim_*"``.
            Default: all others.
        ignore : str or iterable of str
            Names or patterns of columns that contain no answers.
        rejected : bool
            Whether to include test responses, and those that were not finished or approved.
        missing : iterable of str
            See `from_frame`; such a cell is empty.
        **options
            See `from_frame`. Repeated responses of a worker are in order of time, if a survey has
            times.

        Raises
        ------
        AnswerError
            If ids or questions are uncertain, an id is missing, the options of a question have
            columns, or as in `from_frame`. The message names row and column of the wide table.
        ParameterError
            If a column does not exist, or parameters exclude each other.

        Warns
        -----
        DroppedRowsWarning
            If responses or questions are not read.

        Examples
        --------
        >>> import pandas as pd
        >>> from quietcrowd.domains import Categorical
        >>> frame = pd.DataFrame({"id": ["a", "b"], "q1": ["no", "yes"], "q2": ["no", ""]})
        >>> Answers.from_wide(frame, Categorical(["no", "yes"]), worker="id").to_frame()
          task worker label
        0   q1      a    no
        1   q1      b   yes
        2   q2      a    no
        """
        from quietcrowd.wide import answer_rows

        if not isinstance(domain, Domain):
            raise ParameterError("answers.not-a-domain", domain=domain)
        table = answer_rows(
            frame,
            domain,
            skip=options.get("out_of_domain") == "skip",
            worker=worker,
            task=task,
            questions=questions,
            ignore=ignore,
            rejected=rejected,
            missing=missing,
        )
        return cls.from_frame(table, domain, missing=missing, **options)

    @classmethod
    def from_label_sets(
        cls,
        frame: Any,
        labels: Iterable[str],
        *,
        task: str = "task",
        worker: str = "worker",
        label: str = "label",
        separator: str | None = None,
        tasks: Iterable[Any] | None = None,
        workers: Iterable[Any] | None = None,
        duplicates: Duplicates = "error",
        missing: Iterable[str] = MISSING,
    ) -> Answers:
        """Read sets of labels as answers to one question with yes or no per task and label.

        A worker who answers a task answers the questions about all labels, so that which rows exist
        reveals nothing about the sets. Each answer is randomized independently, and the privacy
        loss of a set is ``mechanism.guarantee(answers=len(labels)).total_epsilon``: to limit it to
        epsilon, give the mechanism ``epsilon / len(labels)``. In a list of many tasks the loss is
        the ``linked_epsilon`` at ``linked=len(labels)``.

        Parameters
        ----------
        frame : pandas, Polars or PyArrow dataframe
            One row per task and worker, with the worker's labels as list, tuple, set, or text. An
            empty one contains no label. Rows without a set are dropped.
        labels : iterable of str
            All possible labels, public and fixed beforehand; labels match if their text does.
        task, worker, label : str
            Names of the three columns; see `from_frame`.
        separator : str, optional
            Separator of labels in a text, which labels may contain. Spaces around labels are
            ignored. Texts that are lists in JSON or Python need none.
        tasks, workers : iterable, optional
            All ids, including those without an answer; see `from_frame`.
        duplicates : {"error", "first", "last"}
            Treatment of repeated answers of a worker to a task; it applies to whole sets.
        missing : iterable of str
            See `from_frame`. A text that is empty is a set without labels.

        Returns
        -------
        Answers
            Answers "no" and "yes", with ``len(labels)`` tasks for each task of the frame, named by
            task and label, such as "7: cat". ``answers.dropped`` counts rows of the frame.

        Raises
        ------
        AnswerError
            If all sets are missing, or one repeats a label, contains one that is not in `labels`,
            or is text without a `separator` or with two readings; or as in `from_frame`.
        ParameterError
            If `labels` is empty, repeats a label, or has one that is not text, is empty, is
            surrounded by spaces, or contains ": "; if two labels differ only by spaces around
            `separator`; or if a separator is given for lists.

        Warns
        -----
        QuietcrowdWarning
            If sets are missing or empty texts.

        Notes
        -----
        One question per label is binary relevance (Tsoumakas and Katakis, 2007). crowd-kit's
        ``BinaryRelevance`` accepts the same frame.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"task": [7, 8], "worker": ["a", "a"], "label": [["cat"], []]})
        >>> Answers.from_label_sets(frame, ["cat", "dog"]).to_frame()
             task worker label
        0  7: cat      a   yes
        1  7: dog      a    no
        2  8: cat      a    no
        3  8: dog      a    no
        """
        names = (task, worker, label)
        table, known, holds = label_set_rows(frame, labels, names, separator, missing)
        rows = cls.from_frame(
            table,
            Interval(low=0, high=max(len(holds), 1)),
            *names,
            tasks=tasks,
            workers=workers,
            duplicates=duplicates,
            out_of_domain="skip",
            missing=missing,
        )
        found: Answers = one_task_per_label(rows, known, holds)
        return found

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return (
            f"Answers({len(self):,} answers, {len(self.tasks):,} tasks, "
            f"{len(self.workers):,} workers, domain={self.domain.example()}"
            f"{'' if self.options is None else ', with options per task'})"
        )

    @cached_property
    def answers_per_worker(self) -> npt.NDArray[np.int64]:
        """Number of answers per worker, shape (workers,)."""
        return np.bincount(self.worker_codes, minlength=len(self.workers)).astype(np.int64)

    @cached_property
    def answers_per_task(self) -> npt.NDArray[np.int64]:
        """Number of answers per task, shape (tasks,)."""
        return np.diff(self.offsets)

    @property
    def task_codes(self) -> npt.NDArray[np.int32]:
        """Position in `tasks` of every row, shape (answers,)."""
        return np.repeat(np.arange(len(self.tasks), dtype=np.int32), self.answers_per_task)

    @cached_property
    def rows_by_worker(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
        """Row numbers grouped by worker: offsets, shape (workers + 1,), and row numbers.

        The rows of worker ``u`` are ``rows[ends[u] : ends[u + 1]]``, ordered by task.
        """
        ends = np.concatenate([[0], np.cumsum(self.answers_per_worker)])
        return ends, np.argsort(self.worker_codes, kind="stable")

    @cached_property
    def canonical(self) -> Answers:
        """The same answers with tasks and workers sorted by id, for any order of input rows."""
        import pyarrow.compute as pc

        task_order, worker_order = (
            pc.sort_indices(ids).to_numpy() for ids in (self.tasks, self.workers)
        )
        if _in_order(task_order) and _in_order(worker_order):
            return self
        new_tasks, new_workers = (
            np.argsort(order).astype(np.int32) for order in (task_order, worker_order)
        )
        order, sorted_tasks, sorted_workers = sort_rows(
            new_tasks[self.task_codes],
            new_workers[self.worker_codes],
            len(self.tasks),
            len(self.workers),
        )
        return evolve(
            self,
            tasks=self.tasks.take(pa.array(task_order)),
            workers=self.workers.take(pa.array(worker_order)),
            offsets=offsets_of(sorted_tasks, len(self.tasks)),
            worker_codes=sorted_workers,
            values=self.values[order],
            options=None
            if self.options is None
            else self.options.take(self.tasks.take(pa.array(task_order))),
        )

    def with_values(self, domain: Domain, values: npt.NDArray[Any]) -> Answers:
        """Return the same (task, worker) pairs with values from another domain."""
        if len(values) != len(self):
            raise ParameterError(
                "answers.values-of-wrong-length", count=len(self), total=len(values)
            )
        options = self.options if domain == self.domain else None
        return evolve(self, domain=domain, values=values, options=options)

    def with_options(self, options: Any) -> Answers:
        """Return the same answers with the possible labels of each task; see `from_frame`.

        Raises
        ------
        AnswerError
            If a task has no options, or an answer is not among them.
        """
        listed = TaskOptions.read(options, self.domain).take(self.tasks)
        outside = listed.positions(self.task_codes, self.values) < 0
        if outside.any():
            row = int(np.argmax(outside))
            labels = self.domain.decode(self.values)
            where = row, "task", int(self.task_codes[row])
            raise outside_options(labels, "label", where, listed, advice="answers")
        return evolve(self, options=listed)

    def without_null(self, null: npt.NDArray[np.bool_], domain: Domain) -> Answers:
        """Return the table without NULL reports, which `dropped` counts, in their domain."""
        dropped = evolve(self.dropped, null_reports=int(null.sum()))
        return evolve(self._rows(~null), domain=domain, dropped=dropped)

    def of_rows(self, chosen: npt.NDArray[np.bool_]) -> Answers:
        """Return some rows, with all tasks and the workers of these rows."""
        found = self._rows(chosen)
        heard = np.zeros(len(self.workers), np.bool_)
        heard[found.worker_codes] = True
        codes = (np.cumsum(heard) - 1)[found.worker_codes]
        return evolve(found, workers=self.workers.filter(pa.array(heard)), worker_codes=codes)

    def _rows(self, chosen: npt.NDArray[np.bool_]) -> Answers:
        before = np.concatenate([[0], np.cumsum(chosen)])
        return evolve(
            self,
            offsets=before[self.offsets],
            worker_codes=self.worker_codes[chosen],
            values=self.values[chosen],
        )

    def describe(self, truths: Any = None) -> Description:
        """Describe the answers, and known truths in columns ``task`` and ``label``.

        The counts are exact, and as confidential as the answers. They include tasks and workers
        without answers. Source: H. Sun et al., IEEE Big Data 2018, Table II and Figure 1.

        Raises
        ------
        AnswerError
            If there is no answer, or `truths` lack a column.
        """
        from quietcrowd.description import Rows, Spread, describe_rows

        rows = Rows(
            task_ids=self.tasks,
            worker_ids=self.workers,
            tasks=self.task_codes.astype(np.int64),
            workers=self.worker_codes.astype(np.int64),
            labels=self.domain.decode(self.values),
            repeated=self.dropped.duplicates,
            contradicting=0,
            missing=self.dropped.out_of_domain,
        )
        found = describe_rows(rows, truths)
        if self.options is None:
            return found
        return evolve(found, options_per_task=Spread.of(self.options.sizes))

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return a dataframe with columns ``task``, ``worker``, ``label``, sorted by task.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Library of the dataframe.
        """
        return to_native(
            {
                "task": self.tasks.take(pa.array(self.task_codes)),
                "worker": self.workers.take(pa.array(self.worker_codes)),
                "label": self.domain.decode(self.values),
            },
            backend,
        )


def _in_order(positions: npt.NDArray[Any]) -> bool:
    return bool((np.diff(positions.astype(np.int64)) > 0).all())
