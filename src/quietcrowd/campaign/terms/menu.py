"""Menus of mechanisms, from which each worker chooses one before seeing a task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.mixture import Mixture

MOST_ENTRIES = 8
MEMBERS = ("mechanism", "channel", "report", "guarantee", "consent", "summary")
"""Members of a configuration that each entry of a menu has instead, next to ``losses``."""

CHOICE = (
    "The requester sees your choice with your pseudonym. Choose before you know the questions. A "
    "choice that follows from your answers reveals more about them than these figures allow."
)
CHOICE_IN_BRIEF = "The requester sees your choice of protection."

_ENTRY = {*MEMBERS, "losses"}
_EXPECTED = {"error", "guess"}


@frozen(kw_only=True)
class Menu:
    """Mechanisms from which a worker chooses, with the shares of workers that the planner assumes.

    `expected` is the planner's error at these shares, and that of a guess without reports; it is
    the requester's estimate.
    """

    mechanisms: tuple[Mechanism, ...]
    shares: tuple[float, ...]
    expected: Mapping[str, float] | None = None

    def __attrs_post_init__(self) -> None:
        count, mechanisms = len(self.mechanisms), self.mechanisms
        if not 2 <= count <= MOST_ENTRIES or len(set(mechanisms)) < count:
            raise ParameterError("campaign.menu-size", most=MOST_ENTRIES, count=count)
        if any(one.domain != mechanisms[0].domain for one in mechanisms):
            raise ParameterError("campaign.menu-domains-differ")
        Mixture(domain=mechanisms[0].domain, parts=mechanisms)  # raises if they cannot be joined
        numbers = all(_is_number(one) and 0 < one < 1 for one in self.shares)
        if len(self.shares) != count or not numbers or abs(math.fsum(self.shares) - 1) > 1e-9:
            raise ParameterError("campaign.menu-shares-invalid", count=count)
        said = self.expected
        if said is not None and not (
            said.keys() == _EXPECTED and all(_is_number(one) and one >= 0 for one in said.values())
        ):
            raise ParameterError("campaign.menu-expected-invalid")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def count_choices(config: Mapping[str, Any]) -> int | None:
    """Return the number of choices of a configuration; None without a menu."""
    return len(config["menu"]["entries"]) if "menu" in config else None


def chosen(config: Mapping[str, Any], choice: int | None) -> dict[str, Any]:
    """Return a configuration as if one entry of its menu were the only one.

    The result has the members of a configuration without a menu. `choice` is None without one.
    """
    count = count_choices(config)
    if count is None and choice is None:
        return dict(config)
    if count is None or type(choice) is not int or not 0 <= choice < count:
        raise ParameterError("campaign.choice-invalid", choice=choice, count=count or 0)
    flat = {name: member for name, member in config.items() if name != "menu"}
    return {**flat, **config["menu"]["entries"][choice]}


def lines_of(config: Mapping[str, Any], name: str) -> list[str]:
    """Return ``consent`` or ``summary``; with a menu, what differs at other levels follows."""
    if "menu" not in config:
        return list(config[name])
    first, *others = (entry[name] for entry in config["menu"]["entries"])
    lines = list(first)
    for level, other in enumerate(others, 2):
        lines += [f"Level {level}:", *(line for line in other if line not in first)]
    return lines


def with_menu(flats: Sequence[Mapping[str, Any]], menu: Menu) -> dict[str, Any]:
    """Return the configuration with a menu of these `chosen` ones, ordered by loss."""
    losses = [person_loss(flat) for flat in flats]
    places = sorted(range(len(flats)), key=losses.__getitem__)
    entries = [
        {name: member for name, member in flats[place].items() if name in _ENTRY}
        for place in places
    ]
    shared = {name: member for name, member in flats[0].items() if name not in _ENTRY}
    shares = [menu.shares[place] for place in places]
    said = None if menu.expected is None else dict(menu.expected)
    return {**shared, "menu": {"entries": entries, "shares": shares, "expected": said}}


def person_loss(flat: Mapping[str, Any]) -> float:
    """Return the loss of all answers of a person, or of a round, in a `chosen` configuration."""
    loss = flat["guarantee"]["worker_epsilon"]
    return math.inf if loss is None else float(loss)
