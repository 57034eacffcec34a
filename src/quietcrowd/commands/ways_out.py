"""Three ways to a better planned result, as commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

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


def ways_out(case: Case, line: Line) -> Iterator[tuple[str, str | None]]:
    """Yield three ways to a better result, each with a command if one was found."""
    from quietcrowd.planning import case as searches

    with Working("searching for ways out") as working:
        more = searches.fewest_people(case, working.tell)
        fewer: Found | None = searches.best_questions(case, working.tell)
        if fewer is not None and not fewer.suffices:
            fewer = searches.fewest_people_of_best_questions(case, working.tell)
        larger = searches.least_total(case, working.tell)
    size = case.size
    more_helps = more is not None and more.case.size.workers > size.workers
    fewer_helps = fewer is not None and fewer.case.size.answers < size.answers
    larger_helps = larger is not None and larger.case.total > case.total
    people, single = (searches.most_people(one) for one in (case, case.with_answers(1)))
    yield _way("More people", more, more_helps, f"{people:,} people", line, "people")
    names = ("answers_per_worker", "people")
    yield _way("Fewer questions per person", fewer, fewer_helps, f"{single:,} people", line, *names)
    most = f"ε = {searches.most_total(case):,g}"
    yield _way(
        "A larger total, with less privacy", larger, larger_helps, most, line, "total_epsilon"
    )


def _way(
    name: str, found: Found | None, helps: bool, most: str, line: Line, *names: str
) -> tuple[str, str | None]:
    if found is None:
        return f"{name}: the search ended at {most}, which does not suffice.", None
    if not helps:
        return f"{name}: this does not help here.", None
    size = found.case.size
    sizes = {
        "people": f"{size.workers:,} people",
        "answers_per_worker": f"{size.answers:,} for each person",
        "total_epsilon": f"ε = {found.case.total:g}",
    }
    text = ", ".join(sizes[one] for one in names)
    return f"{name} ({text}): {found.row.summary}.", line(**values_of(found, *names))


def values_of(found: Found, *names: str) -> dict[str, Any]:
    """Return fields of a command that set the found numbers."""
    size = found.case.size
    values = {
        "people": size.workers,
        "answers_per_worker": size.answers,
        "total_epsilon": found.case.total,
    }
    if "answers_per_worker" in names:  # the default total depends on it
        names = (*names, "total_epsilon")
    return {name: values[name] for name in names}
