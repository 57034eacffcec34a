"""Factories of mechanisms for ``-m best``, from public facts, and for ``-m two-layer``."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from attrs import Factory, evolve, field, frozen

from quietcrowd.commands.printing import counted, note
from quietcrowd.domains import Domain
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.label_mechanism import at_least_two_labels
from quietcrowd.mechanisms.two_layer import USUAL_SHAPE, TwoLayerRandomizedResponse

if TYPE_CHECKING:
    from quietcrowd.planning import MechanismRanking

BEST = "best"
"""Name among those of mechanisms."""

_FACTS = ("tasks", "workers", "answers_per_task", "prior", "draws")
"""Parameters of `best_mechanism` that do not describe the assumed quality."""


@frozen(kw_only=True, eq=False)
class BestMechanism:
    """Factory of the best mechanism for a domain and an epsilon; prints its reasons once.

    `facts` are parameters of `best_mechanism`, or of the assumed quality.
    """

    facts: Mapping[str, Any]
    _found: dict[tuple[Domain, float], Mechanism] = field(
        default=Factory(dict), init=False, repr=False
    )

    def for_campaign(self, *, tasks: int, workers: int | None, answers: int | None) -> Self:
        """Return a copy with the size of a campaign, unless the facts contain it."""
        size: dict[str, Any] = {"tasks": tasks}
        if workers is not None and "workers" not in self.facts:
            each = tasks if answers is None else min(answers, tasks)
            size |= {"workers": workers, "answers_per_task": workers * each / tasks}
        return evolve(self, facts=size | dict(self.facts))

    def __call__(self, *, domain: Domain, epsilon: float) -> Mechanism:
        """Return the mechanism, the same one each time."""
        if (domain, epsilon) not in self._found:
            ranking = ranking_of(self.facts, domain, epsilon)
            for line in ranking_rows(ranking):
                note(line)
            self._found[domain, epsilon] = ranking.best
        return self._found[domain, epsilon]


def ranking_of(facts: Mapping[str, Any], domain: Domain, epsilon: float) -> MechanismRanking:
    """Return the ranking for facts from the command line."""
    from quietcrowd.planning import best_mechanism

    known = {name: value for name, value in facts.items() if name in _FACTS}
    quality = {name: value for name, value in facts.items() if name not in _FACTS}
    return best_mechanism(domain=domain, epsilon=epsilon, quality=quality or None, **known)


def ranking_rows(ranking: MechanismRanking) -> list[str]:
    """Format a ranking, and the reason for the first mechanism, in lines of at most 80 columns."""
    lines = [f"{'error':>9} {'+-':>8} {'x least':>8}  mechanism"]
    for row in ranking.rows:
        name = textwrap.shorten(row.name, 50, placeholder="...")
        lines.append(
            f"{row.error:>9.4g} {row.standard_error:>8.2g} {row.times_least:>8.3f}  {name[:50]}"
        )
    return [*lines, *textwrap.wrap(ranking.why, 80, break_on_hyphens=False)]


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
        if kind is not TwoLayerRandomizedResponse or not {"low", "high", "missing"}.isdisjoint(
            given
        ):
            return None
        return given if given.get("distribution", "flip") != "epsilon" else None

    def __call__(self, *, domain: Domain, epsilon: float) -> Mechanism:
        """Return the mechanism, and print its flip probabilities unless `quietly`."""
        from quietcrowd.accounting.calibration import two_layer_bounds

        labels = at_least_two_labels(domain)
        usual = {"alpha": USUAL_SHAPE, "beta": USUAL_SHAPE}
        parameters = (
            usual if self.parameters.get("distribution") == "beta" else {}
        ) | self.parameters
        shapes = {name: parameters[name] for name in usual.keys() & parameters.keys()}
        low, high = two_layer_bounds(epsilon, self.answers, labels=labels.size, **shapes)
        mechanism = TwoLayerRandomizedResponse(domain=labels, low=low, high=high, **parameters)
        if self.quietly:
            return mechanism
        note(
            f"two-layer: low = {low:.4f} and high = {high:.4f}. One of "
            f"{counted(self.answers, 'answer')} has a privacy loss of at most epsilon = "
            f"{epsilon:g}. With two-layer:low=0 this is only the claim of the paper, and the loss "
            "is larger."
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
    """Return a factory that a plan can specialize for each number of answers, if that applies."""
    parameters = TwoLayerChoice.of(maker)
    return maker if parameters is None else _ForAnswers(maker, parameters)
