"""Menus of drafts in their stored form, from which configurations have theirs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import asdict, evolve, frozen

from quietcrowd.campaign.terms.chosen_mechanism import ChosenMechanism
from quietcrowd.campaign.terms.menu import Menu
from quietcrowd.campaign.terms.rounds import Rounds
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.mixture import Mixture


@frozen(kw_only=True)
class Entry:
    """A mechanism, the share of workers that is assumed to choose it, and its origin.

    `chosen` is None if the requester described the mechanism.
    """

    mechanism: Mechanism
    share: float
    chosen: ChosenMechanism | None = None

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Entry:
        """Read an entry from its stored form."""
        chosen = stored["chosen"]
        return cls(
            mechanism=Mechanism.from_dict(stored["mechanism"]),
            share=stored["share"],
            chosen=None if chosen is None else ChosenMechanism(**chosen),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the entry in its stored form."""
        chosen = None if self.chosen is None else asdict(self.chosen)
        return {"mechanism": self.mechanism.to_dict(), "share": self.share, "chosen": chosen}


@frozen(kw_only=True)
class MenuDraft:
    """A menu with at least two entries, the smallest loss first."""

    entries: tuple[Entry, ...]
    expected: Mapping[str, float] | None = None

    @classmethod
    def read(cls, text: str | None) -> MenuDraft | None:
        """Read a menu from its stored form; None without one."""
        if text is None:
            return None
        stored = json.loads(text)
        return cls(entries=tuple(map(Entry.read, stored["entries"])), expected=stored["expected"])

    @property
    def text(self) -> str:
        """The menu in its stored form."""
        entries = [one.to_dict() for one in self.entries]
        return json.dumps({"entries": entries, "expected": self.expected})

    def agreed(self) -> Menu:
        """Return the menu of the configuration, or raise `ParameterError`."""
        return Menu(
            mechanisms=tuple(one.mechanism for one in self.entries),
            shares=tuple(one.share for one in self.entries),
            expected=self.expected,
        )

    @property
    def mixture(self) -> Mechanism:
        """The mechanism of all reports; may raise `ParameterError`."""
        return Mixture.of(one.mechanism for one in self.entries)

    def derived(
        self, derive: Callable[[ChosenMechanism], Mechanism], answers: int, tasks: int
    ) -> MenuDraft:
        """Return the menu with mechanisms that follow anew from the chosen losses, in order."""
        entries = [
            one if one.chosen is None else evolve(one, mechanism=derive(one.chosen))
            for one in self.entries
        ]
        losses = [
            one.mechanism.guarantee(answers=answers, tasks=tasks).total_epsilon for one in entries
        ]
        order = sorted(range(len(entries)), key=losses.__getitem__)
        return evolve(self, entries=tuple(entries[place] for place in order))


def rounds_of(text: str | None) -> Rounds | None:
    """Read rounds from their stored form; None without any."""
    return None if text is None else Rounds.read(json.loads(text))


def of_round(chosen: ChosenMechanism, rounds: Rounds | None, answers: int) -> ChosenMechanism:
    """Return a choice for one round: the requester chooses the loss of a window of rounds."""
    if rounds is None or rounds.division == "crowd":
        return chosen
    return evolve(chosen, total_epsilon=chosen.total(answers) / rounds.window)
