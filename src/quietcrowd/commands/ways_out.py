"""Three ways to a better planned result, as commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from attrs import frozen

from quietcrowd.commands.printing import Working
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    from quietcrowd.planning.case import Case, Found

Line = Callable[..., str]
"""Writes the command again with other fields: people, answers_per_worker, total_epsilon."""

LEAST = ("people", "questions", "total")


def find_least(case: Case, what: str) -> Found:
    """Search, or raise `ParameterError` if nothing suffices; shows progress on a terminal."""
    from quietcrowd.planning.case import best_questions, fewest_people, least_total

    if what not in LEAST:
        raise ParameterError("commands.least-unknown", subject=what)
    search = {"people": fewest_people, "questions": best_questions, "total": least_total}[what]
    with Working("searching") as working:
        found = search(case, working.tell)
    if found is None:
        raise ParameterError("planning.nothing-suffices", what=what)
    return found


@frozen(kw_only=True)
class Rounded:
    """A plan for one round: one in `slots` people answers it, with a part of the total."""

    slots: int = 1
    parts: int = 1


def more_people(case: Case, line: Line, rounds: Rounded = Rounded()) -> tuple[str, str | None]:
    """Return more people as a way to a better result, with a command if they were found."""
    from quietcrowd.planning import case as searches

    with Working("searching for ways out") as working:
        more = searches.fewest_people(case, working.tell)
    helps = more is not None and more.case.size.workers > case.size.workers
    most = f"{rounds.slots * searches.most_people(case):,} people"
    return _way("More people", more, helps, most, line, rounds, "people")


def ways_out(
    case: Case, line: Line, rounds: Rounded = Rounded()
) -> Iterator[tuple[str, str | None]]:
    """Yield three ways to a better result, each with a command if one was found."""
    from quietcrowd.planning import case as searches

    yield more_people(case, line, rounds)
    with Working("searching for ways out") as working:
        fewer: Found | None = searches.best_questions(case, working.tell)
        if fewer is not None and not fewer.suffices:
            fewer = searches.fewest_people_of_best_questions(case, working.tell)
        larger = searches.least_total(case, working.tell)
    size = case.size
    fewer_helps = fewer is not None and fewer.case.size.answers < size.answers
    larger_helps = larger is not None and larger.case.total > case.total
    single = f"{rounds.slots * searches.most_people(case.with_answers(1)):,} people"
    names = ("answers_per_worker", "people")
    yield _way("Fewer questions per person", fewer, fewer_helps, single, line, rounds, *names)
    most = f"ε = {rounds.parts * searches.most_total(case):,g}"
    name = "A larger total, with less privacy"
    yield _way(name, larger, larger_helps, most, line, rounds, "total_epsilon")


def _way(
    name: str,
    found: Found | None,
    helps: bool,
    most: str,
    line: Line,
    rounds: Rounded,
    *names: str,
) -> tuple[str, str | None]:
    if found is None:
        return f"{name}: the search ended at {most}, which does not suffice.", None
    if not helps:
        return f"{name}: this does not help here.", None
    values = values_of(found, *names, rounds=rounds)
    sizes = {
        "people": "{:,} people",
        "answers_per_worker": "{:,} for each person",
        "total_epsilon": "ε = {:g}",
    }
    text = ", ".join(sizes[one].format(values[one]) for one in names)
    if rounds.slots > 1 and "people" in names:
        text += f", {found.case.size.workers:,} in each round"
    return f"{name} ({text}): {found.row.summary}.", line(**values)


def values_of(found: Found, *names: str, rounds: Rounded = Rounded()) -> dict[str, Any]:
    """Return fields of a command that set the found numbers."""
    size = found.case.size
    values = {
        "people": rounds.slots * size.workers,
        "answers_per_worker": size.answers,
        "total_epsilon": rounds.parts * found.case.total,
    }
    if "answers_per_worker" in names:  # the default total depends on it
        names = (*names, "total_epsilon")
    return {name: values[name] for name in names}
