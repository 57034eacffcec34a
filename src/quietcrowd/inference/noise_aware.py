"""`NoiseAware`: truths and workers from reports whose noise is known, of labels and of numbers."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, ClassVar

import narwhals as nw
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.domains import Categorical, Domain, FiniteDomain, NumericDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.frames import column_of
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.further_report import FurtherReport
from quietcrowd.inference.labels.noise_aware import NoiseAwareLabels
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.numbers.noise_aware import NoiseAwareNumbers
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import Estimates, Scatter
from quietcrowd.inference.sets.noise_aware import NoiseAwareSets
from quietcrowd.label_frequencies import as_label_frequencies, check_label_frequencies
from quietcrowd.mechanisms.channels.base import Channel, known_grid
from quietcrowd.report_domains import Reals
from quietcrowd.validation import at_least, plain, whole_number

__all__ = ["NoiseAware"]


@frozen(kw_only=True, slots=False)
class NoiseAware(FittingMethod[Any, Any], IterativeInference[Any, Any]):
    """Truths and workers from reports whose noise is known: labels, or numbers.

    The requester knows what a device does to an answer, and this method uses it. Of every worker it
    weighs all accuracies (of numbers, all sizes of its own errors) by what its reports make of
    them, through the law of the noise; what the crowd is like, and how frequent each truth is, it
    learns from all reports. So one method does about as well as the best of the others on each
    data set and at each epsilon, and is nearly as sure as it should be where workers err on their
    own. Plain answers are reports without noise.

    - **Labels**: reports whose law given the answer is a table, also with NULL as a label, and also
      where every worker has a secret flip probability; and reports that are sets of labels.
      ``truths`` have the probability of the label
      as ``confidence``. ``workers`` have a column ``flag``: "constant", "random", "opposite" or
      "not randomised" where reports look like those of no honest worker.
    - **Numbers**: reports with Laplace noise of a public scale, also where unanswered tasks are
      filled in, with or without a noisy participation bit; and bounded reports, as those of
      `PiecewiseMechanism`. ``standard_error`` is the standard deviation of the posterior;
      ``workers`` have a column ``sigma`` with an interval.

    ``estimate.posterior`` gives the probability of every label, or quantiles of every number;
    ``estimate.notes`` what to know of the estimate. What it assumes, and when not to use it:
    ``docs/noise-aware.md``.

    Parameters
    ----------
    prior : mapping of label to float, optional
        How frequent each label is among the truths, where that is known; labels without a number
        share the rest. By default it is learned. For labels alone.
    max_iterations : int
        Most sweeps; more change the estimates little.
    tolerance : float
        As of every method.

    Raises
    ------
    ParameterError
        Where `prior` is no mapping to numbers from 0 on that sum to at most 1; by `fit`, where it
        names no label, or there are too many workers and labels.

    Notes
    -----
    `fit` with ``start=`` takes over what an earlier estimate knows of the workers. Where that had
    another `prior`, or none, the frequencies of the truths are those of this method from the first
    pass on. `extend` needs an estimate with the same `prior`.

    References
    ----------
    ``docs/theory/noise-aware-labels.md``, ``docs/theory/noise-aware-numbers.md``. How near it comes
    to the truth: ``docs/truth-under-noise.md``.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> warnings.simplefilter("ignore", qc.SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.synthetic_crowd(tasks=300, workers=50, seed=1)
    >>> mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    >>> reports = mechanism.randomize(crowd.answers, rng=np.random.default_rng(1))
    >>> estimate = qc.NoiseAware().fit(reports)
    >>> qc.error_rate(estimate, crowd.truths) < 0.25
    True
    >>> sorted(estimate.posterior.columns)
    ['label', 'probability', 'task']
    """

    name: ClassVar[str] = "noise-aware"
    errors_from_model: ClassVar[bool] = True
    has_posterior: ClassVar[bool] = True
    enough_at_limit: ClassVar[bool] = True
    tells_further: ClassVar[bool] = True
    prior: Any = field(
        default=None, converter=as_label_frequencies, validator=check_label_frequencies
    )
    max_iterations: int = field(default=30, converter=plain, validator=whole_number(1))
    tolerance: float = field(default=1e-5, converter=plain, validator=at_least(0))

    @override
    def to_dict(self) -> dict[str, Any]:
        prior = None if self.prior is None else dict(self.prior)
        return {**super().to_dict(), "prior": prior}

    def _model(self, domain: Domain, channel: Channel | None = None) -> Any:
        """Return the model of such truths where reports come by a channel."""
        shared = {
            "max_iterations": self.max_iterations,
            "tolerance": self.tolerance,
            "seed": self.seed,
        }
        if self.infers_labels(domain):
            prior = None if self.prior is None else MappingProxyType(dict(self.prior))
            if channel is not None and channel.sets is not None:
                return NoiseAwareSets(prior=prior, **shared)
            return NoiseAwareLabels(prior=prior, **shared)
        if self.prior is not None:
            raise ParameterError("prior goes with labels; these answers are numbers")
        return NoiseAwareNumbers(**shared)

    def _model_of(self, summary: Summary) -> Any:
        """Return the model of what was read."""
        return self._model(summary.domain, summary.channel)

    @override
    def infers_labels(self, domain: Domain) -> bool:
        return isinstance(domain, FiniteDomain) or not isinstance(domain, NumericDomain)

    @override
    def reads_reports(self, channel: Channel) -> bool:
        if channel.probabilities is not None or channel.sets is not None:
            return True
        return known_grid(channel) is not None

    @override
    def truth_domain(self, mechanism: Any) -> Domain:
        """Return what an answer can be where it is known how reports come from answers."""
        if mechanism.report_law is not None or mechanism.channel.sets is not None:
            answers: Domain = mechanism.domain
            return answers
        return super().truth_domain(mechanism)

    @override
    def models_noise(self, mechanism: Any) -> bool:
        return bool(
            self._model(self.truth_domain(mechanism), mechanism.channel).models_noise(mechanism)
        )

    @override
    def refuse(self, mechanism: Any) -> None:
        self._model(self.truth_domain(mechanism), mechanism.channel).refuse(mechanism)

    @override
    def domain_of(self, frame: nw.DataFrame[Any]) -> Domain:
        numbers = "label" in frame.columns and pa.types.is_floating(column_of(frame, "label").type)
        model = self._model(Reals() if numbers else Categorical(["no", "yes"]))
        domain: Domain = model.domain_of(frame)
        return domain

    @override
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[Any]:
        known: npt.NDArray[Any] = self._model(domain).known(tasks, domain, truths)
        return known

    @override
    def summarize(self, summary: Summary, known: npt.NDArray[Any]) -> Summary:
        found: Summary = self._model_of(summary).summarize(summary, known)
        return found

    @override
    def scale(self, partition: Partition, summary: Summary) -> Partition:
        scaled: Partition = self._model_of(summary).scale(partition, summary)
        return scaled

    @override
    def room(self, tasks: int, summary: Summary) -> Estimates:
        room: Estimates = self._model_of(summary).room(tasks, summary)
        return room

    @override
    def first_state(self, summary: Summary, tally: Any) -> Any:
        return self._model_of(summary).first_state(summary, tally)

    @override
    def start_from(self, state: Any, earlier: Any, summary: Summary) -> Any:
        return self._model_of(summary).start_from(state, earlier, summary)

    @override
    def sweep(self, partition: Partition, summary: Summary, state: Any, estimates: Any) -> Any:
        return self._model_of(summary).sweep(partition, summary, state, estimates)

    @override
    def judge(self, partition: Partition, summary: Summary, state: Any) -> npt.NDArray[Any]:
        judged: npt.NDArray[Any] = self._model_of(summary).judge(partition, summary, state)
        return judged

    @override
    def update(self, summary: Summary, tally: Any, state: Any) -> tuple[Any, float]:
        learned: tuple[Any, float] = self._model_of(summary).update(summary, tally, state)
        return learned

    @override
    def update_partly(self, summary: Summary, tally: Any, state: Any) -> tuple[Any, float]:
        model = self._model_of(summary)
        learned: tuple[Any, float] = model.update_partly(summary, tally, state)
        return learned

    @override
    def extend_tally(self, tally: Any, extension: Extension) -> Any:
        return self._model_of(extension.new).extend_tally(tally, extension)

    @override
    def finish(self, estimates: Any, known: npt.NDArray[Any], summary: Summary) -> Estimates:
        found: Estimates = self._model_of(summary).finish(estimates, known, summary)
        return found

    @override
    def qualities(self, summary: Summary, tally: Any, state: Any) -> dict[str, npt.NDArray[Any]]:
        found: dict[str, Any] = self._model_of(summary).qualities(summary, tally, state)
        return found

    @override
    def posterior(self, partition: Partition, summary: Summary, state: Any) -> Any:
        return self._model_of(summary).posterior(partition, summary, state)

    @override
    def further_report(self, summary: Summary, state: Any, worker: int | None) -> FurtherReport:
        told: FurtherReport = self._model_of(summary).further_report(summary, state, worker)
        return told

    @override
    def beliefs(self, partition: Partition, summary: Summary, state: Any) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = self._model_of(summary).beliefs(partition, summary, state)
        return found

    @override
    def notes(self, summary: Summary, state: Any, tally: Any) -> tuple[str, ...]:
        found: tuple[str, ...] = self._model_of(summary).notes(summary, state, tally)
        return found

    @override
    def signal_warnings(
        self, summary: Summary, tally: Any, state: Any, scatter: Scatter
    ) -> list[Warning]:
        model = self._model_of(summary)
        found: list[Warning] = model.signal_warnings(summary, tally, state, scatter)
        return found
