"""New tasks beside those of an earlier estimate: swept alone, with what is known of the workers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.loop import LoopProgress, LoopResult, estimate, iterate
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.partition import Extension, Partition, Summary, hash_ids
from quietcrowd.inference.reading import Observations

__all__ = ["extend_loop", "join_workers", "joined_summary", "refuse_swept_tasks"]

_SPARE_BITS = 6
"""Beginnings of hashes are so many bits longer than it takes to count them."""


def refuse_swept_tasks(start: TruthEstimate[Any], answers: Answers) -> None:
    """Raise AnswerError where a task of the answers counts in the estimate already."""
    fresh = hash_ids(answers.tasks)
    again = _shared(start.swept, fresh)
    if len(again):
        task = answers.tasks[int(np.argmax(fresh == again[0]))].as_py()
        raise AnswerError(
            f"task {task!r} is one of the earlier estimate, whose answers count already. Fit all "
            "answers, with start= that estimate."
        )


def _shared(many: npt.NDArray[np.uint64], few: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the hashes that stand in both, after one fast look at the `many`.

    Few of them begin with the bits that one of the `few` begins with: only those are compared.
    """
    bits = len(few).bit_length() + _SPARE_BITS
    beginning = np.uint64(64 - bits)
    begins = np.zeros(2**bits, np.bool_)
    begins[few >> beginning] = True
    near: npt.NDArray[np.uint64] = many[begins.take((many >> beginning).view(np.int64))]
    ranked = np.sort(few)
    places = np.minimum(np.searchsorted(ranked, near), len(ranked) - 1)
    found: npt.NDArray[np.bool_] = ranked[places] == near
    return near[found]


def join_workers(
    start: TruthEstimate[Any], observed: Observations
) -> tuple[Observations, npt.NDArray[np.intp]]:
    """Put the workers of an earlier estimate before those whom only new answers name.

    They are matched by what their ids print as.

    Returns
    -------
    observed : Observations
        The new answers, among all workers.
    earlier : ndarray of intp, shape (workers,)
        Where each of these stands in the earlier estimate; -1 for a new one.
    """
    known, named = start.answers.workers, observed.answers.workers
    if named.equals(known):
        return observed, np.arange(len(known))
    places = positions_by_text(named, known)
    strangers = named.filter(pa.array(places < 0))
    places[places < 0] = len(known) + np.arange(len(strangers))
    ids = _together(known, strangers)
    earlier = np.arange(len(ids))
    earlier[len(known) :] = -1
    return observed.among(ids, places), earlier


def _together(known: pa.Array, strangers: pa.Array) -> pa.Array:
    """Return ids below each other: of the known ones' type, or texts where it does not hold all."""
    whole = all(pa.types.is_integer(ids.type) for ids in (known, strangers))
    if whole or not len(strangers) or strangers.type == known.type:
        with suppress(pa.ArrowInvalid):  # too large for that type
            return pa.concat_arrays([known, pc.cast(strangers, known.type)])
    return pa.concat_arrays([pc.cast(ids, pa.string()) for ids in (known, strangers)])


def joined_summary(start: Summary, fresh: Summary, earlier: npt.NDArray[np.intp]) -> Summary:
    """Return what is known of the earlier answers and the new ones together.

    Parameters
    ----------
    start, fresh : Summary
        Of the earlier answers, and of the new ones among all workers.
    earlier : ndarray of intp, shape (workers,)
        As of `join_workers`.

    Raises
    ------
    ParameterError
        Where the two were not made alike.
    """
    here, there = fresh.report_law, start.report_law
    same_law = there is None if here is None else here.same_as(there)
    if fresh.domain != start.domain or fresh.channel != start.channel or not same_law:
        raise ParameterError(
            "the new answers must come in the domain, and through the channel, of the earlier "
            f"ones; these are in {fresh.domain.example()}"
        )
    counts = start.answers_per_worker[earlier]
    counts[earlier < 0] = 0
    return evolve(
        fresh,
        answers_per_worker=counts + fresh.answers_per_worker,
        tasks=start.tasks + fresh.tasks,
        longest_task=max(start.longest_task, fresh.longest_task),
        low=min(start.low, fresh.low),
        high=max(start.high, fresh.high),
    )


def extend_loop(
    method: Any,
    start: TruthEstimate[Any],
    earlier: npt.NDArray[np.intp],
    partition: Partition,
    summary: Summary,
) -> LoopResult[Any, Any]:
    """Run a method on new tasks, on top of what the earlier ones told of the workers.

    The earlier answers' part of every tally is the one of the last pass over them. To learn from
    both parts is expectation maximisation that looks again at some tasks only (R. Neal and
    G. Hinton, "A view of the EM algorithm that justifies incremental, sparse, and other variants",
    1998). It climbs the objective of methods whose tallies hold all of it; that of numbers by
    `NoiseAware` keeps the earlier reports' log evidence, and may fall.
    """
    cached = method.extend_tally(
        start.tally, Extension(positions=earlier, old=start.summary, new=summary)
    )
    state = start.state
    if state is not None and len(earlier) > start.summary.workers:
        state = state.take(earlier)

    def tally_at(state: Any) -> Any:
        return cached + method.sweep(partition, summary, state, None)

    update = method.update_partly if isinstance(method, IterativeInference) else None
    progress = iterate(method, summary, tally_at, LoopProgress(state=state), update=update)
    room, tally = estimate(method, partition, summary, progress.state)
    return LoopResult.of(method, progress, room, cached + tally)
