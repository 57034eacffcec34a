"""Choice of one question in an export of several projects, by its key or its text."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from attrs import frozen

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import QuestionError
from quietcrowd.formats.csv import shorten
from quietcrowd.validation import did_you_mean


@frozen
class Question:
    """A question: its key, its text if that differs, and the id and title of its project."""

    key: str
    text: str = ""
    project: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        """The name in messages: ``PROJECT / KEY``, or the key if there are no projects."""
        project = self.title or self.project
        return f"{project} / {self.key}" if project else self.key

    def has_name(self, wanted: str) -> bool:
        """Return whether a text is the key, alone or after the project's title or id."""
        return wanted in (self.name, self.key, f"{self.project} / {self.key}")


def count_questions(answered: Iterable[Iterable[Question]]) -> Counter[Question]:
    """Count the labels of assets that answer each question."""
    return Counter(question for one in answered for question in dict.fromkeys(one))


def choose_question(
    path: Path, counts: Mapping[Question, int], wanted: str | None, shapes: Collection[str] = ()
) -> frozenset[Question]:
    """Return the wanted question of one project, or the only question if `wanted` is None.

    `counts` are numbers of answers. A key selects all texts that the question had in its project, a
    text selects only these answers. `shapes` are names of boxes, spans and other objects, which are
    not labels.

    Raises FormatError, which lists the questions and numbers, if none or several are meant.

    Examples
    --------
    >>> counts = {Question("T0", "Is it round?", "7", "Shapes"): 12, Question("T0"): 3}
    >>> for wanted in ("Shapes / T0", "7 / T0", "Is it round?"):
    ...     print(*(question.name for question in choose_question(Path(), counts, wanted)))
    Shapes / T0
    Shapes / T0
    Shapes / T0
    """
    if not counts and not shapes:
        raise FormatError("formats.no-answer", path=path)
    named = [one for one in counts if wanted is None or one.has_name(wanted)]
    meant = named or [one for one in counts if one.text == wanted]
    if not meant and (wanted in shapes or not counts):
        raise FormatError("formats.shapes-not-read", path=path, known=", ".join(map(repr, shapes)))
    if not meant:
        names = [each for one in counts for each in (one.name, one.key, one.text) if each]
        raise QuestionError(
            "formats.field-unknown",
            path=path,
            wanted=wanted,
            known=_listed(counts, counts),
            suggestion=did_you_mean(str(wanted), names),
        ).about(_by_name(counts))
    one_question = len({(one.project, one.key) for one in meant}) == 1
    if not one_question or (wanted is None and len(meant) > 1):
        known = _listed(meant, counts)
        error = QuestionError("formats.field-ambiguous", path=path, known=known)
        raise error.about(_by_name(counts))
    return frozenset(meant)


def _by_name(counts: Mapping[Question, int]) -> dict[str, int]:
    """Return numbers of answers by names that select one question."""
    found: dict[str, int] = {}
    for one, count in counts.items():
        name = _unique_name(one, counts)
        found[name] = found.get(name, 0) + count
    return found


def _unique_name(one: Question, questions: Iterable[Question]) -> str:
    """Return the name, with the id of the project if its title is that of another."""
    alike = {(other.project, other.key) for other in questions if other.has_name(one.name)}
    return one.name if len(alike) == 1 else f"{one.project} / {one.key}"


def _listed(questions: Iterable[Question], counts: Mapping[Question, int]) -> str:
    return ", ".join(
        f"{_unique_name(one, counts)!r} ({shorten(one.text)!r}, answers: {counts[one]:,})"
        if one.text
        else f"{_unique_name(one, counts)!r} (answers: {counts[one]:,})"
        for one in questions
    )
