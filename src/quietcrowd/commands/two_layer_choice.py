"""Calibration of ``-m two-layer`` in campaigns and plans to the stated epsilon."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from quietcrowd.accounting.calibration import two_layer_bounds
from quietcrowd.commands.printing import counted, note
from quietcrowd.domains import Domain
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.label_mechanism import at_least_two_labels
from quietcrowd.mechanisms.two_layer import USUAL_SHAPE, TwoLayerRandomizedResponse

__all__ = ["TwoLayerChoice", "sized_maker"]


class TwoLayerChoice:
    """Factory of the two-layer mechanism for which one of n answers loses at most epsilon.

    With a `low` of 0, as in the paper, one of n answers would lose ``ln((k - 1) n)``, whatever
    epsilon is claimed.
    """

    def __init__(self, parameters: dict[str, Any], answers: int, *, quietly: bool = False) -> None:
        self.parameters, self.answers, self.quietly = parameters, answers, quietly

    @staticmethod
    def of(maker: Callable[..., Mechanism]) -> dict[str, Any] | None:
        """Return the parameters of a two-layer mechanism with an open `low`, or None."""
        if not isinstance(maker, partial):
            return None
        kind = getattr(maker.func, "__self__", None)
        given: dict[str, Any] = maker.keywords
        if kind is not TwoLayerRandomizedResponse or not {"low", "high", "null"}.isdisjoint(given):
            return None
        return given if given.get("law", "flip") != "epsilon" else None

    def __call__(self, *, domain: Domain, epsilon: float) -> Mechanism:
        """Return the mechanism, and print its flip probabilities unless `quietly`.

        Raises ParameterError if a parameter is out of range or the domain has no labels.
        """
        labels = at_least_two_labels(domain)
        usual = {"alpha": USUAL_SHAPE, "beta": USUAL_SHAPE}
        parameters = (usual if self.parameters.get("law") == "beta" else {}) | self.parameters
        shapes = {name: parameters[name] for name in usual.keys() & parameters.keys()}
        low, high = two_layer_bounds(epsilon, self.answers, labels=labels.size, **shapes)
        mechanism = TwoLayerRandomizedResponse(domain=labels, low=low, high=high, **parameters)
        if self.quietly:
            return mechanism
        note(
            f"two-layer: low = {low:.4f} and high = {high:.4f}, with which one of "
            f"{counted(self.answers, 'answer')} loses at most epsilon = {epsilon:g}. With "
            "two-layer:low=0 the same epsilon is claimed as in the paper, and more is lost."
        )
        return mechanism


class _ForAnswers:
    """Factory that a plan specializes for each number of answers per worker."""

    def __init__(self, maker: Callable[..., Mechanism], parameters: dict[str, Any]) -> None:
        self.maker, self.parameters = maker, parameters

    def for_answers(self, answers: int) -> TwoLayerChoice:
        return TwoLayerChoice(self.parameters, answers, quietly=True)

    def __call__(self, *, domain: Domain, epsilon: float) -> Mechanism:
        return self.maker(domain=domain, epsilon=epsilon)


def sized_maker(maker: Callable[..., Mechanism]) -> Callable[..., Mechanism]:
    """Return a factory that a plan can specialize for each number of answers, if that applies.

    A plan then uses the same mechanism as a campaign with the same ``-m``.
    """
    parameters = TwoLayerChoice.of(maker)
    return maker if parameters is None else _ForAnswers(maker, parameters)
