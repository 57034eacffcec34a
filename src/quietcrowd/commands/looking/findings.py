"""Findings about a file that a user needs for the next step."""

from __future__ import annotations

import io
import shlex
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from quietcrowd.campaign.terms.plain_text import printable
from quietcrowd.commands.looking.contents import Contents
from quietcrowd.exceptions import (
    ConvergenceWarning,
    FormatError,
    QuietcrowdError,
    QuietcrowdWarning,
)

Given: TypeAlias = Mapping[str, Any]
"""Options of a command by the names of its fields."""

USUAL = ("task", "worker", "label")
"""Default columns of answers."""


@frozen(kw_only=True)
class Source:
    """A file, and its name on the command line."""

    path: Path
    name: str

    def word(self) -> str:
        """Return the name as an argument, which an option does not begin like."""
        return f"./{self.name}" if self.name.startswith("-") and self.name != "-" else self.name


@frozen(kw_only=True)
class Steps:
    """Commands that work, one after another, and `others` by purpose.

    `faults` are messages of errors that options of the commands avoid. If there is no command, the
    last one is that of the `error` that remains. `changes` are messages of warnings.
    """

    commands: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    others: Mapping[str, str] = field(factory=dict)
    error: QuietcrowdError | None = None


@frozen(kw_only=True)
class Findings:
    """The kind of a file, its columns, its questions with numbers of answers, and the next steps.

    `contents` are counts of the answers to `question`, or of truths. `advice` names
    decisions of the user, or the remedy of an error.
    """

    title: str
    columns: tuple[str, ...] = ()
    questions: Mapping[str, int | None] = field(factory=dict)
    question: str | None = None
    contents: Contents | None = None
    steps: Steps = field(factory=Steps)
    advice: str = ""

    def failed(self, error: QuietcrowdError) -> Findings:
        """Add an error that prevents all steps."""
        return evolve(self, steps=Steps(faults=(str(error),), error=error))

    def named(self, copy: Source, name: str) -> Findings:
        """Replace the path of a temporary copy in messages."""
        faults, changes = (
            tuple(text.replace(str(copy.path), name) for text in texts)
            for texts in (self.steps.faults, self.steps.changes)
        )
        return evolve(self, steps=evolve(self.steps, faults=faults, changes=changes))


def write_command(*words: str) -> str:
    """Return a command for a POSIX shell; raise FormatError if a terminal cannot show it."""
    command = shlex.join(words)
    if printable(command) != command:
        hidden = next(word for word in words if printable(word) != word)
        raise FormatError("commands.command-not-printable", name=hidden)
    return command


def free_name(stem: str, suffix: str = ".csv") -> str:
    """Return the name of a file that does not exist."""
    names = (f"{stem}{'' if number == 1 else f'-{number}'}{suffix}" for number in count(1))
    return next(name for name in names if not Path(name).exists())


@contextmanager
def quiet() -> Iterator[list[str]]:
    """Collect warnings as texts, and print no notes."""
    messages: list[str] = []
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", QuietcrowdWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.showwarning = lambda message, *_, **__: messages.append(str(message))
        yield messages
