"""Extending an estimate: new tasks are swept with the state of an earlier estimate."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import positions_by_text, together
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.loop import LoopProgress, LoopResult, estimate, iterate
from quietcrowd.inference.model import Extension, LearningModel, Model
from quietcrowd.inference.partition import Partition, Summary, hash_ids
from quietcrowd.inference.reading import Observations

_SPARE_BITS = 6
"""Prefixes of hashes have this many bits more than the number of hashes needs."""


def check_new_tasks(start: TruthEstimate[Any], answers: Answers) -> None:
    """Raise AnswerError if a task of the answers is in the estimate."""
    fresh = hash_ids(answers.tasks)
    again = _shared(start.swept, fresh)
    if len(again):
        task = answers.tasks[int(np.argmax(fresh == again[0]))].as_py()
        raise AnswerError("inference.task-counted-already", task=task)


def _shared(many: npt.NDArray[np.uint64], few: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the hashes that are in both; only those with a prefix of the `few` are compared."""
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
    """Return new answers with the workers of an earlier estimate first, and positions there.

    Workers match if their ids print alike. A new worker has position -1.
    """
    known, named = start.answers.workers, observed.answers.workers
    if named.equals(known):
        return observed, np.arange(len(known))
    places = positions_by_text(named, known)
    added = named.filter(pa.array(places < 0))
    places[places < 0] = len(known) + np.arange(len(added))
    ids = together(known, added)
    earlier = np.arange(len(ids))
    earlier[len(known) :] = -1
    return observed.among(ids, places), earlier


def joined_summary(start: Summary, fresh: Summary, earlier: npt.NDArray[np.intp]) -> Summary:
    """Return the summary of earlier and new answers of one domain and channel."""
    here, there = fresh.report_distribution, start.report_distribution
    same_distribution = there is None if here is None else here.same_as(there)
    if fresh.domain != start.domain or fresh.channel != start.channel or not same_distribution:
        mixed = fresh.answers_per_part is not None or start.answers_per_part is not None
        if mixed and fresh.domain == start.domain:
            raise ParameterError("inference.mixture-differs")
        raise ParameterError("inference.channel-differs", domain=fresh.domain.example())

    def added(name: str) -> Any:
        new = getattr(fresh, name)
        if new is None:
            return None
        counts = getattr(start, name)[earlier]
        counts[earlier < 0] = 0
        return counts + new

    return evolve(
        fresh,
        answers_per_worker=added("answers_per_worker"),
        answers_per_part=added("answers_per_part"),
        tasks=start.tasks + fresh.tasks,
        longest_task=max(start.longest_task, fresh.longest_task),
        low=min(start.low, fresh.low),
        high=max(start.high, fresh.high),
    )


def extend_loop(
    model: Model[Any, Any, Any],
    start: TruthEstimate[Any],
    earlier: npt.NDArray[np.intp],
    partition: Partition,
) -> LoopResult:
    """Run a model on new tasks, with the tally of the last pass over the earlier ones.

    This is incremental expectation maximization (R. Neal and G. Hinton, "A view of the EM algorithm
    that justifies incremental, sparse, and other variants", 1998). The objective cannot fall if
    tallies contain all of it; that of `NoiseAware` for numbers keeps the earlier reports' log
    evidence, and may fall.
    """
    cached = model.extend_tally(
        start.tally, Extension(positions=earlier, old=start.model, new=model)
    )
    state = start.state
    if state is not None and len(earlier) > start.summary.workers:
        state = state.take(earlier)

    def sweep_all(state: Any) -> Any:
        return cached + model.sweep(partition, state, None)

    update = model.update_partly if isinstance(model, LearningModel) else None
    progress = iterate(model, sweep_all, LoopProgress(state=state), update=update)
    estimates, tally = estimate(model, partition, progress.state)
    return LoopResult.of(model, progress, estimates, cached + tally)
