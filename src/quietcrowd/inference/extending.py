"""New tasks beside those of an earlier estimate: swept alone, with what is known of the workers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.carrying import Move
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.partition import Overview, Partition, Summary, hash_ids
from quietcrowd.inference.sweep import Course, LoopResult, estimate, iterate

if TYPE_CHECKING:
    from quietcrowd.inference.estimate import TruthEstimate
    from quietcrowd.inference.fitting import Given

__all__ = ["WorkerUnion", "extend_loop", "joined_overview", "refuse_swept_tasks"]

_SPARE_BITS = 6
"""Beginnings of hashes are so many bits longer than it takes to count them."""


@frozen(kw_only=True, eq=False)
class WorkerUnion:
    """The workers of an earlier estimate, and after them those whom only new answers name.

    Attributes
    ----------
    ids : pyarrow.Array
        Of all.
    earlier : ndarray of intp, shape (workers,)
        Where each stands in the earlier estimate; -1 for a new one.
    given : Given
        The new answers, among all workers.
    """

    ids: pa.Array
    earlier: npt.NDArray[np.intp]
    given: Given

    @classmethod
    def of(cls, start: TruthEstimate, given: Given) -> WorkerUnion:
        """Match workers by what their ids print as."""
        known, named = start.answers.workers, given.answers.workers
        if named.equals(known):
            return cls(ids=known, earlier=np.arange(len(known)), given=given)
        places = positions_by_text(named, known)
        strangers = named.filter(pa.array(places < 0))
        places[places < 0] = len(known) + np.arange(len(strangers))
        ids = _together(known, strangers)
        earlier = np.arange(len(ids))
        earlier[len(known) :] = -1
        return cls(ids=ids, earlier=earlier, given=_among(ids, places, given))


def _together(known: pa.Array, strangers: pa.Array) -> pa.Array:
    """Return ids below each other: of the known ones' type, or texts where it does not hold all."""
    whole = all(pa.types.is_integer(ids.type) for ids in (known, strangers))
    if whole or not len(strangers) or strangers.type == known.type:
        with suppress(pa.ArrowInvalid):  # too large for that type
            return pa.concat_arrays([known, pc.cast(strangers, known.type)])
    return pa.concat_arrays([pc.cast(ids, pa.string()) for ids in (known, strangers)])


def _among(ids: pa.Array, places: npt.NDArray[np.intp], given: Given) -> Given:
    """Return the answers in a longer list of workers, sorted anew."""
    answers = given.answers
    codes = places[answers.worker_codes]
    order = np.argsort(answers.task_codes * np.int64(len(ids)) + codes)
    bits = given.participation
    return evolve(
        given,
        answers=evolve(
            answers,
            workers=ids,
            worker_codes=codes[order].astype(np.int32),
            values=answers.values[order],
        ),
        participation=None if bits is None else bits[order],
    )


def refuse_swept_tasks(start: TruthEstimate, answers: Answers) -> None:
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


def joined_overview(start: Summary, union: WorkerUnion) -> Overview:
    """Return what is known of the earlier answers and the new ones together.

    Raises
    ------
    ParameterError
        Where the two were not made alike.
    """
    fresh = union.given.overview
    if fresh.domain != start.domain or fresh.channel != start.channel:
        raise ParameterError(
            "the new answers must come in the domain, and through the channel, of the earlier "
            f"ones; these are in {fresh.domain.example()}"
        )
    counts = start.answers_per_worker[union.earlier]
    counts[union.earlier < 0] = 0
    numbers = start.labels == 0
    return evolve(
        fresh,
        answers_per_worker=counts + fresh.answers_per_worker,
        tasks=start.tasks + fresh.tasks,
        longest_task=max(start.longest_task, fresh.longest_task),
        low=min(start.low, fresh.low) if numbers else fresh.low,
        high=max(start.high, fresh.high) if numbers else fresh.high,
    )


def extend_loop(
    method: Any, start: TruthEstimate, union: WorkerUnion, partition: Partition, summary: Summary
) -> LoopResult[Any, Any]:
    """Run a method on new tasks, on top of what the earlier ones told of the workers.

    The earlier answers' part of every tally is the one of the last pass over them. To learn from
    both parts climbs the objective as expectation maximisation does that looks again at some tasks
    only (R. Neal and G. Hinton, "A view of the EM algorithm that justifies incremental, sparse,
    and other variants", 1998).
    """
    cached = method.carry(
        start.tally, Move(positions=union.earlier, old=start.summary, new=summary)
    )
    state = start.state
    if state is not None and len(union.ids) > start.summary.workers:
        state = state.take(union.earlier)

    def tally_at(state: Any) -> Any:
        return cached + method.sweep(partition, summary, state, None)

    update = method.update_partly if isinstance(method, IterativeInference) else None
    course = iterate(method, summary, tally_at, Course(state=state), update=update)
    room, tally = estimate(method, partition, summary, course.state)
    return LoopResult(
        estimates=room,
        tally=cached + tally,
        state=course.state,
        iterations=len(course.history),
        converged=course.rests(method),
        history=course.history,
    )
