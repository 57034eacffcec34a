"""Truth-inference methods: parameters, and the data that a method accepts."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy.typing as npt
import pyarrow as pa
from attrs import asdict, evolve, field, fields_dict, frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError
from quietcrowd.inference.model import Model
from quietcrowd.inference.partition import Summary
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.randomness import seed_of
from quietcrowd.report_domains import OrNull
from quietcrowd.validation import at_least, check_names, plain, whole_number

STORED_AS = {"max_iter": "max_iterations", "tol": "tolerance", "random_state": "seed"}
"""Names of parameters in descriptions of methods, where they differ."""


@frozen(kw_only=True, slots=False)
class TruthInference(ABC):
    """A method: immutable parameters, without data. `bind` gives its model of some data.

    The loop makes at most `max_iter` iterations. It has converged if the objective per answer
    changes by at most `tol`. Ties are broken by a hash of `random_state`, from which a generator
    draws an integer, and the id of the task.

    The class says whether a method `reads_answers` that are non-private; `reads_mixed` reports of
    several mechanisms; `corrects_quality` of the
    workers for the noise, though not the truths; knows the noise, but `counts_filled` answers; has
    `errors_from_model`, which need one answer a task; has `enough_at_limit` of iterations without
    convergence; or `suggests_tasks`, by models that are `SuggestsTasks`.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    reads_answers: ClassVar[bool] = True
    reads_mixed: ClassVar[bool] = False
    corrects_quality: ClassVar[bool] = False
    counts_filled: ClassVar[bool] = False
    errors_from_model: ClassVar[bool] = False
    enough_at_limit: ClassVar[bool] = False
    suggests_tasks: ClassVar[bool] = False
    max_iter: int = field(default=100, converter=plain, validator=whole_number(1))
    tol: float = field(default=1e-8, converter=plain, validator=at_least(0))
    random_state: int = field(default=0, converter=seed_of, validator=whole_number(0, 2**64 - 1))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description, from which `method_from_dict` makes an equal method."""
        stored = {STORED_AS.get(name, name): value for name, value in asdict(self).items()}
        return {"method": self.name, "version": self.version, **stored}

    @abstractmethod
    def infers_labels(self, domain: Domain) -> bool:
        """Return whether truths are labels, not numbers, if answers lie in a domain."""

    def reads_reports(self, channel: Channel) -> bool:  # noqa: ARG002
        """Return whether the method accepts reports of a channel."""
        return True

    def models_noise(self, mechanism: Any) -> bool:  # noqa: ARG002
        """Return whether the method models the noise of a mechanism."""
        return False

    def check_mechanism(self, mechanism: Any) -> None:  # noqa: B027
        """Raise AnswerError if the method cannot use the reports of a mechanism."""

    def truth_domain(self, mechanism: Any) -> Domain:
        """Return the domain of inferred truths; by default that of the reports, without NULL."""
        domain: Domain = mechanism.report_domain
        return domain.domain if isinstance(domain, OrNull) else domain

    @abstractmethod
    def domain_of(self, labels: pa.Array) -> Domain:
        """Return the domain of answers by their distinct labels."""

    @abstractmethod
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[Any]:
        """Return the known truth of each task as `Partition` stores it; `truths` are a ``gold``."""

    @abstractmethod
    def bind(self, summary: Summary, known: npt.NDArray[Any] | None = None) -> Model[Any, Any, Any]:
        """Return the model of some data; `known` truths come in any order, with unknown ones."""

    def bind_options(
        self,
        summary: Summary,  # noqa: ARG002
        answers: Answers,  # noqa: ARG002
        mechanism: Any,  # noqa: ARG002
        known: npt.NDArray[Any],  # noqa: ARG002
    ) -> Any:
        """Return the model of answers with options per task, which has their `partitions`.

        `mechanism` is that of reports, or None. AnswerError if the method ignores options.
        """
        raise AnswerError("inference.options-unsupported", name=type(self).__name__)

    @property
    def follows_time(self) -> bool:
        """Whether truths change from round to round, and estimates follow them."""
        return False

    @property
    def reads_options(self) -> bool:
        """Whether the method infers from answers with options per task."""
        return type(self).bind_options is not TruthInference.bind_options

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters by name, for scikit-learn; `deep` changes nothing.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> qc.WeightedVote(smoothing=2.0).get_params()["smoothing"]
        2.0
        """
        kind: Any = type(self)
        return {name: getattr(self, name) for name in fields_dict(kind)}

    def set_params(self, **parameters: Any) -> Self:
        """Return the method with other parameters; this one does not change.

        Raises
        ------
        ParameterError
            If a name is not that of a parameter, or a value is invalid.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> vote = qc.WeightedVote()
        >>> vote.set_params(smoothing=3.0).smoothing, vote.smoothing
        (3.0, 1.0)
        """
        check_names(self.name, parameters, list(fields_dict(type(self))))
        return evolve(self, **parameters)

    def clone(self) -> Self:
        """Return the method itself, which has no data."""
        return self

    def __sklearn_clone__(self) -> Self:
        return self
