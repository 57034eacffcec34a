"""Mechanism name ``best``, which `best_mechanism` resolves from public facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from attrs import Factory, evolve, field, frozen

from quietcrowd.commands.printing import note
from quietcrowd.domains import Domain
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    from quietcrowd.planning import MechanismRanking

__all__ = ["BEST", "BestMechanism", "ranking_of", "ranking_rows"]

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
        """Return a copy with the size of a campaign, unless the facts contain it.

        `workers` and `answers` (per worker) are maxima; None means unknown, or all tasks.
        """
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
    """Return the ranking for facts from the command line.

    Raises ParameterError if a fact is unknown or out of range.
    """
    from quietcrowd.planning import best_mechanism

    known = {name: value for name, value in facts.items() if name in _FACTS}
    quality = {name: value for name, value in facts.items() if name not in _FACTS}
    return best_mechanism(domain=domain, epsilon=epsilon, quality=quality or None, **known)


def ranking_rows(ranking: MechanismRanking) -> list[str]:
    """Format a ranking, and the reason for the first mechanism, in lines of at most 80 columns."""
    import textwrap

    lines = [f"{'error':>9} {'+-':>8} {'x least':>8}  mechanism"]
    for row in ranking.rows:
        name = textwrap.shorten(row.name, 50, placeholder="...")
        lines.append(
            f"{row.error:>9.4g} {row.standard_error:>8.2g} {row.times_least:>8.3f}  {name[:50]}"
        )
    return [*lines, *textwrap.wrap(ranking.why, 80, break_on_hyphens=False)]
