"""From answers with labels to an estimate: what all methods on finite domains share."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, FiniteDomain, check_finite
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import Backend, as_frame, backend_of, column_of, positions_by_text
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.method import StateT, TallyT, TruthInference
from quietcrowd.inference.noise_warning import warn_noise_ignored
from quietcrowd.inference.partition import partition_of, summary_of
from quietcrowd.inference.sweep import run_loop
from quietcrowd.mechanisms.channel import FiniteChannel
from quietcrowd.mechanisms.reports import Reports

__all__ = ["CategoricalMethod"]


@frozen(kw_only=True, slots=False)
class CategoricalMethod(TruthInference[StateT, TallyT]):
    """A truth-inference method for `Categorical` and `Ordinal` domains."""

    def fit(
        self, data: Any, start: TruthEstimate | None = None, *, threads: int | None = None
    ) -> TruthEstimate:
        """Find the truths and the workers' quality.

        Parameters
        ----------
        data : Reports, Answers or dataframe
            A frame has columns ``task``, ``worker``, ``label``; its domain is the labels that
            occur.
        start : TruthEstimate, optional
            An earlier estimate of the same method: its workers' state is the first one here.
            Workers are matched by what their ids print as; a new one starts as the median.
        threads : int, optional
            Default: as many as the process may use and the answers are worth.

        Returns
        -------
        TruthEstimate
            Its frames are of the library that came in; pandas for reports and answers.

        Raises
        ------
        AnswerError
            Where the domain is not finite, there is no answer, or the frame breaks a rule of
            `Answers.from_frame`.
        ParameterError
            Where `start` comes from another kind of method or another domain.

        Warns
        -----
        NoiseIgnoredWarning
            Where the method has no model of the noise in the reports that it was given.
        """
        return self._fit(data, start, threads)

    def fit_predict(self, data: Any) -> pd.Series[Any]:
        """Return the truths as crowd-kit does: a pandas Series ``agg_label``, indexed by task."""
        truths = self._fit(data, None, None).truths_as("pandas")
        series: pd.Series[Any] = truths.set_index("task")["truth"].rename("agg_label")
        return series

    def _fit(self, data: Any, start: TruthEstimate | None, threads: int | None) -> TruthEstimate:
        answers, channel, backend = self._read(data)
        domain = check_finite(answers.domain, type(self).__name__)
        if not len(answers):
            raise AnswerError("there is no answer")
        summary = summary_of(answers, domain.size)
        result = run_loop(
            self,
            [partition_of(answers)],
            summary,
            domain.dtype,
            start=self._align(start, answers.workers, domain),
            threads=threads,
        )
        agreement = self.agreement(summary, result.tally)
        return TruthEstimate(
            method=self,
            answers=answers,
            estimates=result.estimates,
            agreement=agreement,
            quality=_quality(agreement, channel),
            state=result.state,
            iterations=result.iterations,
            converged=result.converged,
            history=result.history,
            backend=backend,
        )

    def _read(self, data: Any) -> tuple[Answers, FiniteChannel | None, Backend]:
        if isinstance(data, Reports):
            if not self.models_noise:
                warn_noise_ignored(type(self).__name__, type(data.mechanism).__name__, 4)
            return data.table, data.mechanism.worker_channel, "pandas"
        if isinstance(data, Answers):
            return data, None, "pandas"
        return Answers.from_frame(data, _domain_of(as_frame(data))), None, backend_of(data)

    def _align(
        self, start: TruthEstimate | None, workers: pa.Array, domain: FiniteDomain
    ) -> StateT | None:
        if start is None:
            return None
        if type(getattr(start, "method", None)) is not type(self):
            other = type(getattr(start, "method", start)).__name__
            raise ParameterError(
                f"start must be an estimate of {type(self).__name__}; got one of {other}"
            )
        if start.answers.domain != domain:
            raise ParameterError(
                f"start must be an estimate on {domain.example()}; "
                f"got one on {start.answers.domain.example()}"
            )
        if start.state is None:
            return None
        places = positions_by_text(workers, start.answers.workers)
        state: StateT = start.state.take(places)  # type: ignore[assignment]
        return state


def _domain_of(frame: nw.DataFrame[Any]) -> Categorical:
    labels = pc.unique(column_of(frame, "label")).drop_null().to_pylist()
    if not labels:
        raise AnswerError("there is no answer: column 'label' is empty")
    return Categorical(sorted(labels))


def _quality(
    agreement: npt.NDArray[np.float64], channel: FiniteChannel | None
) -> npt.NDArray[np.float64]:
    """Undo what the channel does to agreement, clipped to 0..1; NaN where it tells nothing.

    With ``keep`` the probability to keep an answer and ``other`` that of one other label, raw
    agreement is ``other + (keep - other) quality``.
    """
    rates = channel.keep_and_other if channel is not None else None
    if rates is None:
        return agreement
    keep, other = rates
    if keep == other:
        return np.full_like(agreement, np.nan)
    return np.clip((agreement - other) / (keep - other), 0.0, 1.0)
