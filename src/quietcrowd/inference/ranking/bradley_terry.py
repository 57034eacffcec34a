"""Ranking of items from paired comparisons, randomized or not."""

import warnings
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, field, frozen
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from quietcrowd.comparisons import COLUMNS, Pairs, Repeated, pairs_of
from quietcrowd.exceptions import AnswerError, ConvergenceWarning, ParameterError
from quietcrowd.frames import positions_by_text, to_native
from quietcrowd.inference.notices import simulated_warning
from quietcrowd.inference.ranking.likelihood import ComparisonReports, Comparisons, Fit, maximise
from quietcrowd.inference.ranking.ranking import Ranking
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.validation import check_positive, checked_by, plain, whole_number

MOST_ITEMS = 10_000
"""Most items: the covariance of this many takes 0.8 GB."""

_NAMED = 3
"""Most groups, and items of a group, in an error message."""


@frozen(kw_only=True)
class BradleyTerry:
    """Ranking of items by workers' paired comparisons, randomized or not.

    A worker prefers the left item with probability ``1 / (1 + exp(s_right - s_left))`` (Bradley and
    Terry, 1952), and the device randomizes that preference. The scores ``s`` maximize the
    likelihood of the reports under the mechanism, times a normal prior. The prior keeps the scores
    of items that won every comparison finite. Derivation:
    ``research/docs/theory/paired-comparisons.md``.

    Parameters
    ----------
    spread : float
        Standard deviation of the normal prior of each score, above 0. With 1.25, the probability of
        a preference is about uniform a priori. The default, 2.5, is weaker, so that intervals hold
        where items differ much, too. A larger value moves the scores towards maximum likelihood.
    max_iter : int
        Most steps of the search, at least 1.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("ann", "tea", "coffee", "tea"), ("bob", "coffee", "milk", "coffee")]
    >>> frame = pd.DataFrame(rows, columns=["worker", "left", "right", "label"])
    >>> BradleyTerry().fit(frame, non_private=True).ranking
    ['tea', 'coffee', 'milk']
    """

    spread: float = field(default=2.5, converter=plain, validator=checked_by(check_positive))
    max_iter: int = field(default=100, converter=plain, validator=whole_number(1))

    def fit(
        self,
        comparisons: Any,
        *,
        mechanism: Mechanism | Channel | None = None,
        non_private: bool = False,
        duplicates: Repeated = "error",
        columns: tuple[str, str, str, str] = COLUMNS,
    ) -> Ranking:
        """Rank the items.

        Parameters
        ----------
        comparisons : pandas, Polars or PyArrow dataframe; Reports; or Answers
            A frame in the format of crowd-kit, with columns ``worker``, ``left``, ``right`` and
            ``label``, the chosen item or a tie; see `Answers.from_comparisons`. Or answers from
            there, or reports. A tie counts half to each item, and must be non-private.
        mechanism : Mechanism or Channel, optional
            What randomized the labels of a frame or of answers. A mechanism has the domain
            ``Categorical(["left", "right"])``; a channel has rows and columns for left and right in
            this order. `Reports` contain their own.
        non_private : bool
            Whether no one randomized the labels of a frame; required without `mechanism`.
        duplicates : {"error", "first", "last", "all"}
            What to do if a worker compared a pair twice in the same order, in a frame. ``all``
            counts each comparison, as of chatbots that answered several questions.
        columns : tuple of str
            Names of the columns of a frame: worker, left, right and label. By default, those of
            chatbot arenas replace missing ones; see `Answers.from_comparisons`.

        Returns
        -------
        Ranking
            Scores with standard errors from the observed information of the reports and the prior.
            Comparisons by one worker count as independent.

        Raises
        ------
        AnswerError
            If a row is invalid (see `Answers.from_comparisons`); if the comparisons do not connect
            all items; if the reports carry no information about the preferences; if the labels are
            not "left" and "right"; if the reports are not independent comparisons through a known
            channel; or if a frame lacks `mechanism` and is not `non_private`, or names another one.
        ParameterError
            If `mechanism` accompanies reports or is invalid, or there are more than 10,000 items.

        Warns
        -----
        SimulatedNoiseWarning
            If the noise of the reports is simulated.
        ConvergenceWarning
            If the search stopped at its limit.
        """
        read = ComparisonReports.of(
            comparisons, mechanism, duplicates, columns, non_private=non_private
        )
        if not len(read.answers):
            raise AnswerError("inference.no-comparison")
        if read.simulated:
            warnings.warn(simulated_warning(), stacklevel=2)
        pairs = pairs_of(read.answers.tasks)
        ids = _ids(read.ids, pairs)
        asked = read.answers.answers_per_task
        _check_groups(pairs, asked, ids)
        fit = maximise(_counted(read, pairs, float(self.spread)), self.max_iter)
        if not fit.converged:
            warnings.warn(_not_converged(self.max_iter), stacklevel=2)
        return _ranking(read, fit, ids, _shown(pairs, asked), float(self.spread))

    def fit_predict(
        self,
        comparisons: Any,
        *,
        mechanism: Mechanism | Channel | None = None,
        non_private: bool = False,
        duplicates: Repeated = "error",
        columns: tuple[str, str, str, str] = COLUMNS,
    ) -> Any:
        """Return the scores, best first: a pandas Series by item, or a dataframe; see `fit`."""
        found = self.fit(
            comparisons,
            mechanism=mechanism,
            non_private=non_private,
            duplicates=duplicates,
            columns=columns,
        )
        order = found.order
        ranked = {"item": found.items.take(pa.array(order)), "score": found.scores[order]}
        frame = to_native(ranked, found.backend)
        return frame.set_index("item")["score"] if found.backend == "pandas" else frame


def _ids(given: pa.Array | None, pairs: Pairs) -> pa.Array:
    if len(pairs.items) > MOST_ITEMS:
        raise ParameterError(
            "inference.too-many-items", count=len(pairs.items), most_items=MOST_ITEMS
        )
    if given is None:
        return pairs.items
    return given.take(pa.array(positions_by_text(pairs.items, given)))


def _check_groups(pairs: Pairs, asked: npt.NDArray[np.int64], ids: pa.Array) -> None:
    edges = coo_array((asked, (pairs.left, pairs.right)), shape=(len(ids), len(ids))).tocsr()
    edges.eliminate_zeros()
    groups, group = connected_components(edges, directed=False)
    if groups == 1:
        return
    shown = []
    for place in range(min(groups, _NAMED)):
        members = np.flatnonzero(group == place)
        names = ", ".join(repr(ids[int(one)].as_py()) for one in islice(members, _NAMED))
        more = len(members) - _NAMED
        shown.append(f"({names}{f' and {more:,} more' * (more > 0)})")
    left = groups - _NAMED
    rest = f" and {left:,} more group{'s' * (left > 1)}" * (left > 0)
    raise AnswerError(
        "inference.comparisons-not-connected", groups=groups, shown=", ".join(shown), rest=rest
    )


def _counted(read: ComparisonReports, pairs: Pairs, spread: float) -> Comparisons:
    answers = read.answers
    kinds = int(answers.values.max()) + 1
    keys = answers.task_codes * np.int64(kinds) + answers.values
    _, rows, counts = np.unique(keys, return_index=True, return_counts=True)
    ties = read.tied[rows]
    places = np.concatenate([rows, rows[ties]])  # of left, and of right for ties
    tasks = answers.task_codes[places]
    return Comparisons(
        items=len(pairs.items),
        left=pairs.left[tasks],
        right=pairs.right[tasks],
        log_left=np.concatenate([read.log_left[rows], read.log_right[rows[ties]]]),
        log_right=np.concatenate([read.log_right[rows], read.log_left[rows[ties]]]),
        counts=np.concatenate([np.where(ties, 0.5, 1.0) * counts, 0.5 * counts[ties]]),
        spread=spread,
    )


def _shown(pairs: Pairs, asked: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    both = np.concatenate([pairs.left, pairs.right])
    counts = np.bincount(both, np.concatenate([asked, asked]), len(pairs.items))
    return counts.astype(np.int64)


def _not_converged(limit: int) -> ConvergenceWarning:
    return ConvergenceWarning("inference.scores-not-converged", limit=limit, value=10 * limit)


def _ranking(
    read: ComparisonReports, fit: Fit, ids: pa.Array, shown: npt.NDArray[np.int64], spread: float
) -> Ranking:
    found = Ranking(
        items=ids,
        scores=fit.scores - fit.scores.mean(),
        covariance=fit.covariance,
        comparisons=shown,
        reports=len(read.answers),
        workers=read.workers,
        mechanism=read.mechanism,
        spread=spread,
        history=fit.history,
        converged=fit.converged,
        backend=read.backend,
    )
    neighbours = len(ids) - 1
    note = (
        f"Pairs of neighbors in the ranking that differ, each at a confidence of 95 %: "
        f"{found.distinguished:,} of {neighbours:,}."
    )
    return evolve(found, notes=(note,))
