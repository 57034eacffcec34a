"""Commands for the next step with a file. Each is tried before it is suggested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import evolve

from quietcrowd.commands import options
from quietcrowd.commands.choices import choose_method
from quietcrowd.commands.convert import Convert
from quietcrowd.commands.declare import option_names
from quietcrowd.commands.files import PlainAnswers, read_gold
from quietcrowd.commands.looking.contents import Contents
from quietcrowd.commands.looking.findings import (
    USUAL,
    Given,
    Source,
    Steps,
    free_name,
    quiet,
    write_command,
)
from quietcrowd.exceptions import FormatError, QuietcrowdError
from quietcrowd.formats import read_table
from quietcrowd.formats.likely_columns import labels_in, separator_of
from quietcrowd.formats.registry import read_names
from quietcrowd.inference import NoiseAware, usual_method_of

MOST_REMEDIES = 6
"""Maximum number of options that are added to one command."""

MOST_CLASSES = 100
"""With more whole numbers, numbers are not suggested as labels."""

MOST_CELLS = 10**7
"""Product of tasks and labels above which inference is not tried."""


def steps_for(
    source: Source,
    contents: Contents,
    given: Given,
    questions: Mapping[str, Sequence[str]] | None = None,
) -> Steps:
    """Return the inference, after a conversion if answers are sets or the format must be named.

    If labels of `questions` are given, sets of labels are those of one question.
    """
    if contents.sets and contents.labels:
        labels = options.join(sorted(contents.labels))
        return convert_steps(source, {**given, "multi_label": labels})
    if "from_format" in given:
        return convert_steps(source, given)
    single = infer_steps(source, contents, given)
    if questions is not None:
        others = steps_per_question(source, questions, given, "question")
        return evolve(single, others={**single.others, **others})
    sets = sets_in(list(contents.labels))
    several = convert_steps(source, {**given, **sets}) if sets else Steps()
    if not several.commands or not single.commands:
        return several if several.commands else single
    return evolve(several, others={"If each text is one label": single.commands[0]})


def sets_in(labels: Sequence[str]) -> Given:
    """Return the options of a conversion if labels are several ones with a separator."""
    separator = separator_of(labels)
    if separator is None:
        return {}
    return {"multi_label": options.join(labels_in(labels, separator)), "separator": separator}


def steps_per_question(
    source: Source, labels: Mapping[str, Sequence[str]], given: Given, name: str
) -> dict[str, str]:
    """Return conversions of questions in which a text may be several labels.

    The option `name` chooses a question.
    """
    others = {}
    for question, found in labels.items():
        if sets := sets_in(found):
            chosen = options.join([question]) if name == "questions" else question
            steps = convert_steps(source, {**given, name: chosen, **sets})
            if steps.commands:
                others[f"If texts of {question!r} are several labels"] = steps.commands[0]
    return others


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
    numbers = contents.numbers
    if len(numbers) > 2 and "between" not in found:
        rest = {name: value for name, value in found.items() if name != "labels"}
        rest |= _bounds(numbers)
        if _works(attempt, rest):
            others["If the answers are numbers, such as ratings"] = command(rest)
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

        def remedy(error: QuietcrowdError) -> Given:
            several = error.code == "wide.several-options"
            return {"multi_label": error.fields["options"]} if several else {}

        found, steps = repaired(attempt, given, remedy)
        if found is None:
            return steps
        words = [source.word(), target.name, *_words(Convert, found)]
        contents, sets = Contents.of(read_table(target.path, USUAL)), ""
        if "multi_label" in found:
            lists = any("," in label for label in options.split(found["multi_label"]))
            sets = free_name("sets", ".parquet" if lists else ".csv")
        then = infer_steps(target, contents, {"labels": "no,yes"} if sets else {}, sets=sets)
        later_faults = [text.replace(str(target.path), target.name) for text in then.faults]
    return Steps(
        commands=(write_command("quietcrowd", "convert", *words), *then.commands),
        faults=(*steps.faults, *later_faults),
        changes=(*steps.changes, *then.changes),
        others=then.others,
        error=then.error,
    )


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
        inside = remaining
        while isinstance(inner := inside.fields.get("error"), QuietcrowdError):
            inside = inner
        more = remedy(inside)
        if not more.items() - given.items():
            break
        given = {**given, **more}
    return None, Steps(faults=tuple(faults), error=remaining)


def _works(attempt: Callable[[Given], None], given: Given) -> bool:
    with quiet(), suppress(QuietcrowdError):
        attempt(given)
        return True
    return False


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
        known = [float(text) for text in contents.labels if _is_number(text)]
        return {**_bounds(sorted(known)), "drop_invalid": True}
    return _REMEDIES.get(error.code, {})


def _bounds(numbers: list[float]) -> Given:
    return {"between": f"{numbers[0]:.15g},{numbers[-1]:.15g}"} if numbers else {}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
