"""Items ranked by paired comparisons, plain or randomised: the model of Bradley and Terry.

No method of truth inference: what is found is a scale of items, and no truth of a task.
"""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from quietcrowd.comparisons import Pairs, pairs_of
from quietcrowd.exceptions import AnswerError, NotConvergedWarning, ParameterError
from quietcrowd.frames import Duplicates, positions_by_text
from quietcrowd.inference.notices import simulated_warning
from quietcrowd.inference.ranking.bradley_terry import Comparisons, Fit, maximise
from quietcrowd.inference.ranking.comparisons import ComparisonReports
from quietcrowd.inference.ranking.items import ItemRanking
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.validation import check_real, check_whole

__all__ = ["SPREAD", "rank_items"]

SPREAD = 2.5
"""Of the prior, by default: twice what makes it about uniform how often one of two is preferred."""

MOST_ITEMS = 10_000
"""A table of items by items is held in memory: of so many it takes 0.8 gigabytes."""

_NAMED = 3
"""So many groups are named where items fall apart, and so many items of each."""


def rank_items(
    comparisons: Any,
    *,
    mechanism: Mechanism | Channel | None = None,
    spread: float = SPREAD,
    duplicates: Duplicates = "error",
    max_iterations: int = 100,
) -> ItemRanking:
    """Rank items by workers' paired comparisons, from reports or from plain preferences.

    A worker prefers the left item with probability ``1 / (1 + exp(s_right - s_left))`` (Bradley and
    Terry, 1952), and the device randomises which side that is. The scores ``s`` maximise the
    likelihood of the reports, by the mechanism's own probabilities, and a normal prior that keeps
    them finite where an item was always preferred. ``docs/theory/paired-comparisons.md`` derives
    it.

    Parameters
    ----------
    comparisons : pandas, Polars or PyArrow dataframe; Reports; or Answers
        A frame as crowd-kit has it: columns ``worker``, ``left``, ``right``, and ``label``, the
        item that was chosen. Or reports of answers from `comparison_answers`, or these answers.
    mechanism : Mechanism or Channel, optional
        Of a frame, or of answers, whose labels were randomised: how. A mechanism has the domain
        ``Categorical(["left", "right"])``; a channel has rows, and columns, for left and right in
        this order. `Reports` carry their own. Default: the preferences are plain.
    spread : float
        Standard deviation of the normal prior of each score, above 0. With 1.25, how often one of
        two items is preferred would be about uniform before any report; the default, 2.5, is
        weaker, so that intervals hold where items differ much, too. The larger it is, the nearer
        are the scores to those of the likelihood alone.
    duplicates : {"error", "first", "last"}
        What to do where a worker compared a pair twice in the same order, in a frame.
    max_iterations : int
        Most steps of the search, at least 1.

    Returns
    -------
    ItemRanking
        Scores with standard errors, from the observed information of the reports and the prior:
        comparisons of one worker count as independent.

    Raises
    ------
    AnswerError
        Where a row is refused, as of `comparison_answers`; where no chain of comparisons leads
        from some items to others; where reports tell nothing of the preferences; where the labels
        are not "left" and "right", or the law of the reports is not that of independent
        comparisons of a known law.
    ParameterError
        Where `mechanism` stands beside reports or is none, another parameter is out of its range,
        or there are more than 10,000 items.

    Warns
    -----
    NoiseIgnoredWarning
        Where a frame says that it holds randomised reports, and no mechanism is given.
    SimulatedNoiseWarning
        Where the noise of the reports is simulated.
    NotConvergedWarning
        Where the search stopped at its limit.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("ann", "tea", "coffee", "tea"), ("bob", "coffee", "milk", "coffee")]
    >>> frame = pd.DataFrame(rows, columns=["worker", "left", "right", "label"])
    >>> rank_items(frame).ranking
    ['tea', 'coffee', 'milk']
    """
    check_real("spread", spread, 0)
    if not float(spread) > 0:
        raise ParameterError(f"spread must be above 0; got {spread!r}")
    check_whole("max_iterations", max_iterations, 1)
    read = ComparisonReports.of(comparisons, mechanism, duplicates)
    if not len(read.answers):
        raise AnswerError("there is no comparison")
    if read.simulated:
        warnings.warn(simulated_warning(), stacklevel=2)
    pairs = pairs_of(read.answers.tasks)
    ids = _ids(read.ids, pairs)
    asked = read.answers.answers_per_task
    _check_groups(pairs, asked, ids)
    fit = maximise(_counted(read, pairs, float(spread)), int(max_iterations))
    if not fit.converged:
        warnings.warn(_not_converged(max_iterations), stacklevel=2)
    return _ranking(read, fit, ids, _shown(pairs, asked), float(spread))


def _ids(given: pa.Array | None, pairs: Pairs) -> pa.Array:
    """Return the ids of the items as they came in."""
    if len(pairs.items) > MOST_ITEMS:
        raise ParameterError(
            f"there are {len(pairs.items):,} items, and at most {MOST_ITEMS:,} can be ranked at "
            "once. Leave out those that hardly matter."
        )
    if given is None:
        return pairs.items
    return given.take(pa.array(positions_by_text(pairs.items, given)))


def _check_groups(pairs: Pairs, asked: npt.NDArray[np.int64], ids: pa.Array) -> None:
    """Raise AnswerError where no chain of comparisons leads from some items to others."""
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
        f"no chain of comparisons leads from some items to others: there are {groups:,} groups, "
        f"{', '.join(shown)}{rest}. Their scores have no common scale: rank each group by itself, "
        "or ask for comparisons between them."
    )


def _counted(read: ComparisonReports, pairs: Pairs, spread: float) -> Comparisons:
    """Return the reports with those counted together that say the same of the same pair."""
    answers = read.answers
    kinds = int(answers.values.max()) + 1
    keys = answers.task_codes * np.int64(kinds) + answers.values
    _, rows, counts = np.unique(keys, return_index=True, return_counts=True)
    tasks = answers.task_codes[rows]
    return Comparisons(
        items=len(pairs.items),
        left=pairs.left[tasks],
        right=pairs.right[tasks],
        log_left=read.log_left[rows],
        log_right=read.log_right[rows],
        counts=counts.astype(np.float64),
        spread=spread,
    )


def _shown(pairs: Pairs, asked: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return in how many comparisons each item was shown, shape (items,)."""
    both = np.concatenate([pairs.left, pairs.right])
    counts = np.bincount(both, np.concatenate([asked, asked]), len(pairs.items))
    return counts.astype(np.int64)


def _not_converged(limit: int) -> NotConvergedWarning:
    return NotConvergedWarning(
        f"the search for the scores stopped after {limit:,} steps, before it converged: scores and "
        f"standard errors may still change. More: max_iterations={10 * limit}."
    )


def _ranking(
    read: ComparisonReports, fit: Fit, ids: pa.Array, shown: npt.NDArray[np.int64], spread: float
) -> ItemRanking:
    """Return what was found, with a sentence on how much of the order is sure."""
    found = ItemRanking(
        items=ids,
        scores=fit.scores - fit.scores.mean(),
        covariance=fit.covariance,
        comparisons=shown,
        reports=len(read.answers),
        workers=int((read.answers.answers_per_worker > 0).sum()),
        mechanism=read.mechanism,
        spread=spread,
        history=fit.history,
        converged=fit.converged,
        backend=read.backend,
    )
    neighbours = len(ids) - 1
    told = (
        f"Pairs of neighbours in the ranking that differ, each at a confidence of 95 %: "
        f"{found.told_apart:,} of {neighbours:,}."
    )
    return evolve(found, notes=(told,))
