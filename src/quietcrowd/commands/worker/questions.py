"""Interactive questions on a terminal, until the worker decides to send the answers."""

from __future__ import annotations

import json
import re
import textwrap
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from attrs import define, field

from quietcrowd.campaign.terms.images import image_in
from quietcrowd.campaign.terms.options import COLUMN
from quietcrowd.campaign.terms.plain_text import one_line, printable, reading_order
from quietcrowd.domains import Domain, FiniteDomain, Interval

if TYPE_CHECKING:
    from quietcrowd.campaign.device.checked_terms import CampaignTask

WIDTH = 78
QUOTED = "| "
"""Prefix of every line that the requester may have written."""

_PLAIN = re.compile(r"-?[\d.]+|[^\W\d][\w'/-]*(?: [^\W\d][\w'/-]*){0,3}")
_LONGEST = 30

BACK, NONE, SEND = "<", "-", "send"

SHOWN = 20
"""Maximum number of lines printed of a list."""


def show_text(text: str, *, first: str = "", rest: str = "") -> None:
    """Print a text, wrapped and without control characters."""
    for line in printable(text).splitlines() or [""]:
        folded = textwrap.wrap(
            line,
            _letters(line),
            initial_indent=first,
            subsequent_indent=rest,
            break_on_hyphens=False,
        )
        typer.echo("\n".join(folded) or first.rstrip())


def show_quoted(text: str) -> None:
    """Print a requester's text with a prefix on each line, unlike the output of this device."""
    show_text(text, first=QUOTED, rest=QUOTED)


def _letters(line: str) -> int:
    """Return the number of letters that fit into a line; wide ones need two columns."""
    wide = any(unicodedata.east_asian_width(letter) in "WF" for letter in line)
    return WIDTH // 2 if wide else WIDTH


def spell(value: Any) -> str:
    """Format an answer or a report."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return one_line(value) if isinstance(value, str) else f"{value:.12g}"


def in_reading_order(tasks: Sequence[CampaignTask]) -> list[CampaignTask]:
    """Sort tasks by name in natural order, t2 before t10."""
    return sorted(tasks, key=lambda task: reading_order(task.name))


def read_line(prompt: str) -> str:
    """Read a line after a prompt; the end of input aborts the command."""
    try:
        return input(prompt).strip()
    except EOFError:
        raise typer.Abort from None


def agreed(question: str) -> bool:
    """Ask a yes-or-no question; the default is no."""
    return read_line(f"{question} [y/N] ").lower() in ("y", "yes")


@define(kw_only=True)
class Questions:
    """Interactive session in which a worker answers questions, changes answers and decides to send.

    `options` contains the possible answers of tasks that list their own, by task name. `most` and
    `least` limit the number of answers. `notes` contains this device's notes by task
    name, `images` files by hash, and `answers` those given so far by task name.
    """

    tasks: Sequence[CampaignTask]
    domain: Domain
    most: int
    least: int
    options: Mapping[str, FiniteDomain] = field(factory=dict)
    notes: Mapping[str, str] = field(factory=dict)
    images: Mapping[str, Path] = field(factory=dict)
    read: Callable[[str], str] = read_line
    answers: dict[str, Any] = field(factory=dict, repr=False)

    def ask(self) -> Mapping[str, Any]:
        """Ask all questions; return the answers to send."""
        show_text(
            "Nothing leaves this device before you have looked over your answers and typed send. "
            f"Enter skips a question, {BACK} goes back, Ctrl-C stops without keeping answers."
        )
        return self._go_on(0)

    def review(self) -> Mapping[str, Any]:
        """Let the worker change answers again; return the answers to send."""
        return self._go_on(len(self.tasks))

    def _go_on(self, place: int) -> Mapping[str, Any]:
        while True:
            while place < len(self.tasks):
                place = self._ask_one(place)
            chosen = self._close()
            if chosen is None:
                return dict(self.answers)
            place = chosen

    def _ask_one(self, place: int) -> int:
        task = self.tasks[place]
        typer.echo("")
        show_text(f"{place + 1} of {len(self.tasks):,}: {one_line(task.name)}", rest=QUOTED)
        domain = self.options.get(task.name, self.domain)
        listed = COLUMN if task.name in self.options else None
        shown = {name: value for name, value in task.data.items() if name != listed}
        _show_data(shown, self.images)
        if task.name in self.notes:
            show_text(self.notes[task.name], rest="  ")
        given = self.answers.get(task.name)
        if given is not None:
            so_far = f"Your answer so far: {spell(given)}. Enter keeps it, {NONE} removes it."
            show_text(so_far, rest="  ")
        elif len(self.answers) >= self.most:
            typer.echo(f"You have given all {self.most:,} possible answers. Enter skips.")
        show_text(_choices(domain), rest=QUOTED)
        while True:
            typed = self.read("> ")
            if typed == BACK:
                return max(0, place - 1)
            if typed == "":
                return place + 1
            if typed == NONE and given is not None:
                del self.answers[task.name]
                return place + 1
            value = _value(typed, domain)
            if value is None:
                show_text(f"This is not an answer: {_choices(domain)}", rest=QUOTED)
            elif given is None and len(self.answers) >= self.most:
                typer.echo(f"You have given all {self.most:,} answers. Enter skips.")
            else:
                self.answers[task.name] = value
                return place + 1

    def _close(self) -> int | None:
        typer.echo("")
        show_text(f"You answered {len(self.answers):,} of {len(self.tasks):,} questions.")
        self._show_answers()
        show_text(
            f"Type {SEND} to randomize them and send the reports in one step. No report is shown "
            "before, and nothing can be changed after. Type the number of a question to change its "
            f"answer, or {BACK} to go back."
        )
        while True:
            typed = self.read("> ").lower()
            if typed == SEND:
                if len(self.answers) >= self.least:
                    return None
                typer.echo("Answer at least one question first.")
            elif typed == BACK:
                return len(self.tasks) - 1
            elif typed.isdecimal() and 1 <= int(typed) <= len(self.tasks):
                return int(typed) - 1
            else:
                typer.echo(f"Type {SEND}, {BACK}, or a number from 1 to {len(self.tasks):,}.")

    def _show_answers(self) -> None:
        lines = [
            f"{place}. {one_line(task.name)}: {spell(self.answers[task.name])}"
            for place, task in enumerate(self.tasks, start=1)
            if task.name in self.answers
        ]
        for line in lines[:SHOWN]:
            show_text(line, first="  ", rest=f"  {QUOTED}")
        if len(lines) > SHOWN:
            typer.echo(f"  … and {len(lines) - SHOWN:,} more")


def _is_numbered(domain: FiniteDomain) -> bool:
    """Return whether labels are numbered; not if a label looks like a number."""
    return not any(
        (isinstance(label, int | float) and not isinstance(label, bool))
        or str(label).strip().lstrip("+-").isdecimal()
        for label in domain.labels
    )


def _choices(domain: Domain) -> str:
    if isinstance(domain, Interval):
        return f"a number from {spell(domain.low)} to {spell(domain.high)}"
    assert isinstance(domain, FiniteDomain)
    labels = [_in_quotes(spell(label)) for label in domain.labels]
    if _is_numbered(domain):
        labels = [f"{number} {label}" for number, label in enumerate(labels, start=1)]
    return "   ".join(labels)


def _value(typed: str, domain: Domain) -> Any:
    if not isinstance(domain, FiniteDomain):
        return _number(typed, domain)
    labels = domain.labels
    code, place = domain.code(typed), int(typed) if typed.isdecimal() else 0
    if code is None and _is_numbered(domain) and 1 <= place <= len(labels):
        code = place - 1
    if code is None:
        alike = [
            place for place, label in enumerate(labels) if str(label).casefold() == typed.casefold()
        ]
        code = alike[0] if len(alike) == 1 else None
    return None if code is None else labels[code]


def _in_quotes(label: str) -> str:
    """Quote a label unless it is a few simple words, because the requester wrote it."""
    return label if _PLAIN.fullmatch(label) and len(label) <= _LONGEST else f'"{label}"'


def _number(typed: str, domain: Any) -> float | None:
    try:
        value = float(typed)
    except ValueError:
        return None
    return value if domain.low <= value <= domain.high else None


def _show_data(data: Mapping[str, Any], images: Mapping[str, Path]) -> None:
    for name, value in data.items():
        file = images.get(image_in(value) or "")
        shown = value if file is None else value["alt"]
        text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
        show_quoted(text if len(data) == 1 and file is None else f"{name}: {text}")
        if file is not None:
            typer.echo(f"  The image is {file}")
