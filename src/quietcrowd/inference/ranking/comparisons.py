"""Reports of paired comparisons, or non-private preferences, with their log-likelihoods."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.comparisons import SIDES, item_ids
from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import Backend, Duplicates, as_frame, backend_of, unmarked
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.mechanism import LEAST_LOSS, Mechanism, Reports


@frozen(kw_only=True, eq=False)
class ComparisonReports:
    """Input of `BradleyTerry`, with log-likelihoods per row; `ids` of items are as in a frame."""

    answers: Answers
    mechanism: Any
    log_left: npt.NDArray[np.float64]
    log_right: npt.NDArray[np.float64]
    ids: pa.Array | None = None
    simulated: bool = False
    backend: Backend = "pandas"

    @classmethod
    def of(cls, data: Any, mechanism: Any, duplicates: Duplicates) -> ComparisonReports:
        """Read the arguments of `BradleyTerry.fit`, and raise its errors."""
        if isinstance(data, Reports):
            if mechanism is not None:
                raise ParameterError("inference.mechanism-with-reports")
            channel, places = _law_of(data.mechanism)
            logs = _logs(channel, places, data.table)
            return cls(
                answers=data.table,
                mechanism=data.mechanism,
                log_left=logs[0],
                log_right=logs[1],
                simulated=data.simulated,
            )
        ids: pa.Array | None = None
        backend: Backend = "pandas"
        if not isinstance(data, Answers):
            frame = as_frame(data).to_native()
            frame = frame if mechanism is None else unmarked(frame)
            backend = backend_of(frame)
            data, ids = Answers.from_comparisons(frame, duplicates=duplicates), item_ids(frame)
        logs = _logs_of_sides(data, mechanism)
        return cls(
            answers=data,
            mechanism=mechanism,
            log_left=logs[0],
            log_right=logs[1],
            ids=ids,
            backend=backend,
        )


def _logs_of_sides(answers: Answers, mechanism: Any) -> npt.NDArray[np.float64]:
    """Return the log-likelihoods of left and of right, shape (2, rows)."""
    places = _places_of(answers.domain)
    if mechanism is None:
        with np.errstate(divide="ignore"):
            return np.log([answers.values == places[0], answers.values == places[1]])
    if isinstance(mechanism, Channel):
        law = mechanism.probabilities
        if law is None or law.shape != (2, 2):
            raise ParameterError("inference.comparison-channel-shape", mechanism=mechanism)
        _check_tells(mechanism, type(mechanism).__name__)
        sides = (answers.values == places[1]).astype(np.intp)
        return np.array([mechanism.log_likelihood(sides, np.array(side)) for side in (0, 1)])
    if not isinstance(mechanism, Mechanism):
        raise ParameterError("inference.not-a-mechanism", mechanism=mechanism)
    channel, own = _law_of(mechanism)
    if mechanism.report_domain != mechanism.domain:
        raise ParameterError("inference.reports-not-labels", name=mechanism.name)
    codes = np.where(answers.values == places[0], *own)
    return np.array([channel.log_likelihood(codes, np.array(place)) for place in own])


def _logs(channel: Channel, places: tuple[int, int], table: Answers) -> npt.NDArray[np.float64]:
    return np.array([channel.log_likelihood(table.values, np.array(place)) for place in places])


def _law_of(mechanism: Mechanism) -> tuple[Channel, tuple[int, int]]:
    """Return the channel of the reports, and the codes of left and right in its domain."""
    places = _places_of(mechanism.domain)
    channel = mechanism.worker_channel
    if channel is None or mechanism.every_task:
        why = (
            "every worker reports every task, so participation is hidden"
            if mechanism.every_task
            else "the reports of one worker share a random draw"
        )
        raise AnswerError("inference.comparisons-not-rankable", name=mechanism.name, reason=why)
    _check_tells(channel, mechanism.name)
    return channel, places


def _check_tells(channel: Channel, name: str) -> None:
    if channel.epsilon <= LEAST_LOSS:
        raise AnswerError("inference.comparisons-without-signal", name=name)


def _places_of(domain: Any) -> tuple[int, int]:
    labels = domain.labels if isinstance(domain, FiniteDomain) else ()
    if set(labels) != set(SIDES.labels):
        raise AnswerError(
            "inference.comparisons-needed", domain=SIDES.example(), other_domain=domain.example()
        )
    return labels.index("left"), labels.index("right")
