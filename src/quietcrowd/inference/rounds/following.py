"""Rounds of a method with truths that follow time: `begin_round`, sweeps, `end_round`."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve

from quietcrowd.exceptions import AnswerError, ParameterError, SuddenChangeWarning
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.model import FollowsTime, Model
from quietcrowd.inference.partition import Partition
from quietcrowd.inference.reading import Observations
from quietcrowd.inference.rounds.history import (
    KEPT_ROUNDS,
    FilterBank,
    Round,
    RoundHistory,
    log_priors,
)
from quietcrowd.inference.task_estimates import LabelEstimates
from quietcrowd.validation import check_whole

MANY = 0.4
"""Users are warned if at least this fraction of the truths seems to change suddenly."""


def round_of_fit(method: Any, number: int | None) -> int | None:
    """Return the number of the first round, 1 by default; None if truths do not follow time."""
    if not method.follows_time:
        if number is not None:
            raise ParameterError("inference.rounds-not-followed", number=number)
        return None
    return 1 if number is None else _checked(number)


def round_of_extension(method: Any, init: Any, number: int | None) -> int | None:
    """Return the number of a later round, the next by default."""
    if not method.follows_time or number is None:
        first = round_of_fit(method, number)
        return None if first is None else _last(init) + 1
    if _checked(number) <= _last(init):
        raise ParameterError("inference.round-counted-already", number=number, last=_last(init))
    return number


def _checked(number: int) -> int:
    check_whole("round", number, 0)
    return int(number)


def _last(init: Any) -> int:
    return int(init.over_time.last.number)


def check_follows(model: Model[Any, Any, Any], options: Any) -> None:
    """Raise AnswerError unless the truths of a model can follow time."""
    if options is not None or not isinstance(model, FollowsTime):
        raise AnswerError("inference.over-time-unsupported")
    model.check_size()


def join_tasks(init: Any, observed: Observations) -> Observations:
    """Return answers of a round with the tasks of earlier rounds first, even without an answer."""
    known, named = init.answers.tasks, observed.answers.tasks
    places = positions_by_text(named, known)
    fresh = places < 0
    places[fresh] = len(known) + np.arange(int(fresh.sum()))
    added = named.filter(pa.array(fresh))
    if added.type != known.type:
        known, added = known.cast(pa.string()), added.cast(pa.string())
    return observed.on_tasks(pa.concat_arrays([known, added]), places)


def begin_round(
    model: Any, init: Any, number: int, partition: Partition, earlier: npt.NDArray[np.intp]
) -> tuple[Any, Any, RoundHistory]:
    """Return the model of a round with the truths' priors, its start, and the predicted history.

    A sudden change is first inferred from messages with the skills of earlier rounds, so that
    workers are not scored by the earlier truths. `earlier` are places of workers, as of
    `join_workers`.
    """
    transitions = init.model.transitions(init.tally, init.state)
    history: RoundHistory = init.over_time
    gap = number - history.last.number
    bank = history.bank.predicted(transitions.repeated(gap), partition.tasks)
    tally, state = init.model.at_rest(init.tally, init.state)
    start = evolve(init, tally=tally, state=state)
    rest = np.tile(log_priors(transitions.rest), (partition.tasks, 1))
    messages = model.next_round(partition, rest).messages(partition, state.take(earlier))
    changed = evolve(bank, now=bank.change(messages, transitions, gap).forward(bank.now))
    history = evolve(history, bank=bank, transitions=transitions)
    return model.next_round(partition, log_priors(changed.mean)), start, history


def first_history(estimate: Any, number: int) -> RoundHistory:
    """Return the history of a fit to the answers of one round."""
    transitions = estimate.model.transitions(estimate.tally, estimate.state)
    bank = FilterBank.first(transitions, len(estimate.answers.tasks))
    return end_round(estimate, RoundHistory(bank=bank, transitions=transitions, rounds=()), number)


def end_round(estimate: Any, history: RoundHistory, number: int) -> RoundHistory:
    """Return the history with the messages of a round."""
    messages = estimate.model.messages(estimate.partition, estimate.state)
    gap = number - history.last.number if history.rounds else 0
    change = history.bank.change(messages, history.transitions, gap)
    bank = history.bank.updated(messages, change)
    answers = estimate.answers.answers_per_task
    met = answers > 0
    if history.rounds:
        earlier = history.last.met
        met[: len(earlier)] |= earlier
    found = Round(
        number=number,
        answers=answers,
        known=estimate.known,
        met=met,
        estimates=estimate.estimates,
        apparent=bank.mean.astype(np.float32),
        change=change.mean(bank.weights),
    )
    return evolve(history, bank=bank, rounds=(*history.rounds, found)[-KEPT_ROUNDS:])


def change_warnings(found: Round) -> list[Warning]:
    """Return a warning if many truths seem to have changed in a round."""
    share = found.change.extent
    if share < MANY:
        return []
    return [
        SuddenChangeWarning("inference.truths-changed-at-once", number=found.number, share=share)
    ]


def with_predictions(model: Any, partition: Any, state: Any, estimates: Any) -> Any:
    """Return estimates in which tasks without an answer have those of the prediction."""
    silent = np.diff(partition.offsets) == 0
    if not isinstance(estimates, LabelEstimates) or not silent.any():
        return estimates
    predicted = model.predicted(partition, state)
    truths = np.where(silent, predicted.truths, estimates.truths)
    confidence = np.where(silent, predicted.confidence, estimates.confidence)
    return evolve(estimates, truths=truths, confidence=confidence)
