"""Commands for the next step with a file. Each is tried before it is suggested."""

from __future__ import annotations

import io
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from quietcrowd.campaign.terms.plain_text import printable
from quietcrowd.commands import options
from quietcrowd.commands.choices import choose_method
from quietcrowd.commands.convert import Convert
from quietcrowd.commands.declare import option_names
from quietcrowd.commands.files import PlainAnswers, read_gold
from quietcrowd.exceptions import (
    ConvergenceWarning,
    FormatError,
    QuietcrowdError,
    QuietcrowdWarning,
)
from quietcrowd.formats import read_table
from quietcrowd.formats.contents import Contents
from quietcrowd.formats.registry import read_names
from quietcrowd.inference import NoiseAware, usual_method_of

Given: TypeAlias = Mapping[str, Any]
"""Options of a command by the names of its fields."""

MOST_REMEDIES = 6
"""Maximum number of options that are added to one command."""

MOST_CLASSES = 100
"""With more whole numbers, numbers are not suggested as labels."""

MOST_CELLS = 10**7
"""Product of tasks and labels above which inference is not tried."""


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
    """Commands that work, one after another.

    Attributes
    ----------
    commands : tuple of str
        The commands; empty if no command works.
    faults : tuple of str
        Messages of errors that options of the commands avoid; the last one remains if there is no
        command.
    changes : tuple of str
        Messages of warnings.
    others : mapping of str to str
        Other commands by purpose.
    error : QuietcrowdError, optional
        The error that remains.
    """

    commands: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    others: Mapping[str, str] = field(factory=dict)
    error: QuietcrowdError | None = None


def write_command(*words: str) -> str:
    """Return a command for a POSIX shell.

    Raises FormatError if a terminal cannot show it.
    """
    command = shlex.join(words)
    if printable(command) != command:
        hidden = next(word for word in words if printable(word) != word)
        raise FormatError("commands.command-not-printable", name=hidden)
    return command


def infer_steps(source: Source, contents: Contents, given: Given, *, sets: str = "") -> Steps:
    """Return the inference of a file's answers, with label sets in the file `sets`."""

    def attempt(tried: Given) -> None:
        _infer(source.path, tried)

    def command(found: Given, *more: str) -> str:
        words = [*_words(PlainAnswers, found), *more, *(["--label-sets-out", sets] if sets else [])]
        return write_command("quietcrowd", "infer", "--non-private", source.word(), *words)

    found, steps = repaired(attempt, given, lambda error: _remedy(error, contents))
    if found is None:
        return steps
    others = {}
    for purpose, changed in _other_readings(found, contents).items():
        if _works(attempt, changed):
            others[purpose] = command(changed)
    platform = source.path.is_file() and read_names(source.path) is None
    if platform and _works(lambda tried: _infer(source.path, tried, gold=True), found):
        others["With the known truths in the file"] = command(found, "--gold", source.word())
    return evolve(steps, commands=(command(found),), others=others)


def _infer(path: Path, tried: Given, *, gold: bool = False) -> None:
    """Infer in one iteration; raise FormatError if `gold` is wanted and the file lacks it."""
    answers = PlainAnswers(**tried).read(path, advice="infer", method=NoiseAware())
    known = None
    if gold:
        known = read_gold(path, tried.get("question"), tried.get("decimal"), beside_answers=True)
        if not len(known):
            raise FormatError("formats.no-answer", path=path)
    labels = getattr(answers.domain, "labels", ())
    if len(answers.tasks) * len(labels) <= MOST_CELLS:
        choose_method(usual_method_of(answers), max_iter=1).fit(answers, gold=known)


def convert_steps(source: Source, given: Given) -> Steps:
    """Return the conversion of a file to CSV and the inference of the answers in it."""
    with TemporaryDirectory(prefix="quietcrowd-") as folder:
        target = Source(path=Path(folder, "answers.csv"), name=free_name("answers"))

        def attempt(tried: Given) -> None:
            target.path.unlink(missing_ok=True)
            Convert(paths=[source.path, target.path], **tried).run()

        found, steps = repaired(attempt, given, _remedy_of_conversion)
        if found is None:
            return steps
        words = [source.word(), target.name, *_words(Convert, found)]
        contents = Contents.of(read_table(target.path, ("task", "worker", "label")))
        if "multi_label" in found:
            lists = any("," in label for label in options.split(found["multi_label"]))
            sets = free_name("sets", ".parquet" if lists else ".csv")
            then = infer_steps(target, contents, {"labels": "no,yes"}, sets=sets)
        else:
            then = infer_steps(target, contents, {})
        told = [text.replace(str(target.path), target.name) for text in then.faults]
    return Steps(
        commands=(write_command("quietcrowd", "convert", *words), *then.commands),
        faults=(*steps.faults, *told),
        changes=(*steps.changes, *then.changes),
        others=then.others,
        error=then.error,
    )


def free_name(stem: str, suffix: str = ".csv") -> str:
    """Return the name of a file that does not exist."""
    names = (f"{stem}{'' if number == 1 else f'-{number}'}{suffix}" for number in count(1))
    return next(name for name in names if not Path(name).exists())


def _words(declared: type[Any], given: Given) -> list[str]:
    flags = option_names(declared)
    words = []
    for name, value in given.items():
        if value is True:
            words.append(flags[name])
        elif str(value).startswith("-"):
            words.append(f"{flags[name]}={value}")
        else:
            words += [flags[name], str(value)]
    return words


def repaired(
    attempt: Callable[[Given], None], given: Given, remedy: Callable[[QuietcrowdError], Given]
) -> tuple[Given | None, Steps]:
    """Try options, and add those that avoid errors; return None instead if an error remains."""
    faults: list[str] = []
    for _ in range(MOST_REMEDIES):
        with quiet() as changes:
            try:
                attempt(given)
            except QuietcrowdError as error:
                remaining = error
            else:
                return given, Steps(faults=tuple(faults), changes=tuple(dict.fromkeys(changes)))
        faults.append(str(remaining))
        more = remedy(innermost(remaining))
        if not more.items() - given.items():
            break
        given = {**given, **more}
    return None, Steps(faults=tuple(faults), error=remaining)


def _works(attempt: Callable[[Given], None], given: Given) -> bool:
    with quiet():
        try:
            attempt(given)
        except QuietcrowdError:
            return False
    return True


@contextmanager
def quiet() -> Iterator[list[str]]:
    """Collect warnings as texts, and print no notes."""
    told: list[str] = []
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", QuietcrowdWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.showwarning = lambda message, *_, **__: told.append(str(message))
        yield told


def innermost(error: QuietcrowdError) -> QuietcrowdError:
    """Return the error that a file's error is about."""
    while isinstance(inside := error.fields.get("error"), QuietcrowdError):
        error = inside
    return error


_REMEDIES: Mapping[str, Given] = {
    "answers.answer-missing": {"drop_invalid": True},
    "answers.answered-twice": {"duplicates": "last"},
    "formats.decimal-comma": {"decimal": ","},
}
"""Options that avoid an error, by its code."""


def _remedy(error: QuietcrowdError, contents: Contents) -> Given:
    numbers = contents.numbers
    if error.code == "inference.whole-floats":
        if len(numbers) > MOST_CLASSES:
            return _bounds(numbers)
        return {"labels": ",".join(f"{number:.0f}" for number in numbers)}
    if error.code == "commands.mixed-answers":
        known = [number for number in map(_number, contents.labels) if number is not None]
        return {**_bounds(sorted(known)), "drop_invalid": True}
    return _REMEDIES.get(error.code, {})


def _remedy_of_conversion(error: QuietcrowdError) -> Given:
    if error.code == "wide.several-options":
        return {"multi_label": error.fields["options"]}
    return {}


def _other_readings(found: Given, contents: Contents) -> dict[str, Given]:
    """Return other options by purpose: labels that are numbers may be classes or numbers."""
    numbers = contents.numbers
    if len(numbers) <= 2 or "between" in found:
        return {}
    rest = {name: value for name, value in found.items() if name != "labels"}
    return {"If the answers are numbers, such as ratings": {**rest, **_bounds(numbers)}}


def _bounds(numbers: list[float]) -> Given:
    return {"between": f"{numbers[0]:.15g},{numbers[-1]:.15g}"} if numbers else {}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
