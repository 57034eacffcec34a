"""``quietcrowd campaign create``: a draft with its tasks."""

import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.accounting.equal_loss import mechanism_within, usual_makers, usual_total
from quietcrowd.campaign.terms.configuration import check_as_of
from quietcrowd.campaign.terms.options import counts_in, have_options
from quietcrowd.campaign.terms.promises import (
    ANYONE,
    MAX_AT_LEAST,
    MAX_RETENTION_DAYS,
    USUAL_AT_LEAST,
    USUAL_RETENTION_DAYS,
    Allotment,
    AllotmentKind,
)
from quietcrowd.campaign.terms.rounds import Rounds, spell_seconds
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.campaign.terms.task_columns import TaskColumns
from quietcrowd.campaign.terms.tasks import TaskRow
from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import OnServer, checked, deleting_on_failure
from quietcrowd.commands.campaign.rounds import RoundOptions, read_menu
from quietcrowd.commands.campaign.tasks import (
    TaskFile,
    TaskImages,
    print_alike_tasks,
    summarize_tasks,
    upload_images,
)
from quietcrowd.commands.choices import (
    METHODS_LISTED,
    choose_mechanism,
    choose_method,
    mechanism_option,
    method_option,
)
from quietcrowd.commands.declare import argument, command, command_line, option, option_group
from quietcrowd.commands.makers import BestMechanism, TwoLayerChoice, sized_maker
from quietcrowd.commands.options import Goal, PossibleAnswers
from quietcrowd.commands.printing import Working, counted, note, print_no_signal
from quietcrowd.commands.ways_out import Rounded, more_people, ways_out
from quietcrowd.domains import Categorical, Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.platforms.label_studio_config import read_label_config
from quietcrowd.mechanisms import Mechanism, Mixture
from quietcrowd.privacy.guarantee import show_loss
from quietcrowd.validation import check_positive

if TYPE_CHECKING:
    from quietcrowd.planning.campaign_plan import PlanRow
    from quietcrowd.planning.case import Case


_OTHER_WAYS = "Also a shorter --window, fewer --answers-per-worker, or larger losses in --menu."


class Assignment(StrEnum):
    """Assignment of tasks, as on the command line."""

    EVENLY = "evenly"
    ADAPTIVE = "adaptive"

    @property
    def allotment(self) -> AllotmentKind:
        """Value in the configuration of a campaign."""
        return "random" if self is Assignment.EVENLY else "suggested"


@option_group("Privacy")
class PersonalPrivacy:
    """Options for the privacy loss of a person, and the mechanism."""

    total_epsilon: float | None = option(
        metavar="NUMBER",
        help="Largest privacy loss of all answers of a person. Default: 5, or 2.2 per answer for "
        "one or two.",
        default=None,
    )
    epsilon: float | None = option(
        "--epsilon",
        "-e",
        metavar="NUMBER",
        help="For experts: privacy loss of one answer, as claimed, instead of --total-epsilon.",
        default=None,
    )
    menu: str | None = option(
        metavar="ENTRIES",
        help="Let each person choose a loss, before seeing a question: total losses and expected "
        "percentages of people, such as 0.5:70,4:30. Instead of --total-epsilon.",
        default=None,
    )
    mechanism: str | None = mechanism_option(
        usual=" Default: one-layer, and for numbers laplace:fill=none."
    )


@option_group("Workers")
class WorkerOptions:
    """Options for the number of workers and of their answers."""

    people: int | None = option(
        min=1,
        metavar="NUMBER",
        help="Expected number of workers, to predict the result. Default: --max-workers.",
        default=None,
    )
    anyway: bool = option(
        help="Create the campaign even if its result is useless, or never shown.",
        default=False,
    )
    goal: Goal = options.GOAL
    max_answers: int | None = option(
        min=1, metavar="NUMBER", help="Maximum number of answers per worker.", default=None
    )
    answers_per_worker: int | None = option(
        min=1,
        metavar="NUMBER",
        help="Number of questions for each person, instead of --max-answers. Default: all.",
        default=None,
    )
    assign: Assignment | None = option(
        help="With --answers-per-worker: assign all tasks equally often, or first the tasks that "
        "benefit most from more reports. Default: evenly.",
        default=None,
    )
    max_workers: int | None = option(
        min=1,
        metavar="NUMBER",
        help="Released workers that fill the campaign. Default with --open-to-all: 10,000.",
        default=None,
    )
    open_to_all: bool = option(
        help="Do not require invites. Anyone with the link can invent workers.", default=False
    )
    completion_code: str | None = option(
        metavar="TEXT",
        help="Code for a paying platform, shown to workers after the reports are stored.",
        default=None,
    )


@option_group("Promises to workers")
class Promises:
    """Options for the terms that workers accept."""

    requester: str = option(metavar="TEXT", help="Name of the requester.", default="")
    contact: str = option(metavar="TEXT", help="Contact of the requester.", default="")
    purpose: str = option(metavar="TEXT", help="Purpose of the answers.", default="")
    retention_days: int = option(
        min=1,
        max=MAX_RETENTION_DAYS,
        metavar="NUMBER",
        help="Days after closing until the server deletes the workers' data.",
        default=USUAL_RETENTION_DAYS,
    )
    min_batch: int = option(
        min=1,
        max=MAX_AT_LEAST,
        metavar="NUMBER",
        help="Minimum number of new workers per release; a smaller rest is never released.",
        default=USUAL_AT_LEAST,
    )
    closes_on: str | None = option(
        metavar="DATE",
        help="Last day in UTC, such as 2026-12-31. Then the server closes the campaign.",
        default=None,
    )


@command(epilog=METHODS_LISTED)
class Create(PersonalPrivacy, PossibleAnswers, WorkerOptions, RoundOptions, Promises, OnServer):
    """Create a draft with tasks and print its id.

    First it predicts the result for --people, and stops if that is as good as guessing, or, with
    --goal shares, as not asking. A note describes how the file was read. With -m two-layer,
    --epsilon bounds the privacy loss of one answer if a worker gives the maximum number of answers.

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes --people 200
    --total-epsilon 5 --answers-per-worker 3
    --requester "Bird group" --contact birds@example.org --purpose "A map of birds"

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes
    --as-of 2026-12-01

    Example: quietcrowd campaign create Birds --tasks tasks.json --label-config project.xml

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes
    --answers-per-worker 5 --assign adaptive

    Example: quietcrowd campaign create Air --tasks places.csv --between 0,100
    --people 700 --menu 1:70,4:30 --rounds 30 --every 1d --first 2026-12-01
    --window 7
    """

    title: str = argument(metavar="TITLE", help="Title that workers see.")
    tasks: Path = option(
        metavar="FILE",
        help="Tasks as .csv, .tsv, .jsonl, .json (also of Label Studio), .xlsx, .ods or .parquet. "
        "Workers see all columns except id and gold. A column image names files in the same "
        'directory. A column options lists the possible answers of each task: ["cat", "dog"] '
        "or cat|dog.",
    )
    shown_columns: str | None = option(
        metavar="COLUMNS",
        help="Columns that workers see, comma-separated. Default: all except id and gold, and a "
        "file that looks like answers is rejected.",
        default=None,
    )
    task_column: str | None = option(
        metavar="COLUMN",
        help="Column that names a task. Default: the first of task, external_id and id; without "
        "one, tasks are numbered.",
        default=None,
    )
    label_config: Path | None = option(
        metavar="FILE",
        help="Config of Label Studio, instead of --labels, --levels or --between.",
        default=None,
    )
    description: str = option(metavar="TEXT", help="Text below the title.", default="")
    method: str | None = method_option()
    max_linked: int | None = option(
        min=1,
        metavar="NUMBER",
        help="Maximum number of a worker's answers that share one fact, if it exceeds the number "
        "of copies and similar questions.",
        default=None,
    )
    as_of: str | None = option(
        metavar="DATE",
        help="Day of all questions, such as 2026-12-01. Answers to the same words about another "
        "day, or no day, get fresh noise.",
        default=None,
    )
    drafts: bool | None = option(
        "--drafts/--no-drafts",
        help="Let devices keep unsent answers. Default: only with invites.",
        default=None,
    )

    def run(self) -> None:
        """Create the draft and print its id."""
        self._check()
        written, mechanisms = self._rows, self._mechanisms
        body, chosen = self._body(), mechanisms[-1]
        print_no_signal(chosen)
        if self.answers_per_worker is not None:
            kind = body["allotment"]
            Allotment.of(
                kind, mechanism=chosen, answers=self.answers_per_worker, tasks=len(written)
            )
        images, rows = TaskImages.read(self.tasks, written)
        self._print_loss()
        body["expected"] = self._check_result()
        made = self._send(body, images, rows)
        note(summarize_tasks(rows))
        if images.contents:
            note(images.summary)
        print_alike_tasks(rows, chosen, self._most, linked=self.max_linked)
        _print_promises(body, self.planned_rounds)
        typer.echo(made)

    def _check(self) -> None:
        if self.as_of is not None:
            check_as_of(self.as_of)
        if self.max_answers is not None and self.answers_per_worker is not None:
            raise ParameterError("commands.answers-option-missing")
        if self.total_epsilon is not None and self.epsilon is not None:
            raise ParameterError("commands.total-and-answer")
        if self.menu is not None and (self.total_epsilon, self.epsilon) != (None, None):
            raise ParameterError("commands.menu-and-total")
        if self.menu is not None and isinstance(self._maker, BestMechanism):
            raise ParameterError("commands.menu-and-best")
        if self.assign is not None and self.answers_per_worker is None:
            raise ParameterError("commands.assign-needs-answers-per-worker")
        if self.planned_rounds is not None and self.planned_rounds.begin(0) < time.time():
            raise ParameterError("commands.first-over", first=self.first)
        if self.planned_rounds is not None and self.min_batch == 1:
            raise ParameterError("commands.rounds-need-batch")

    @property
    def _most(self) -> int | None:
        return self.max_answers if self.answers_per_worker is None else self.answers_per_worker

    @cached_property
    def _domain(self) -> Domain:
        if self.label_config is None:
            written = any(text is not None for text in self.written.values())
            listed = None if written else self._file.options(self._columns)
            return self.domain() if listed is None else listed
        if any(text is not None for text in self.written.values()):
            raise ParameterError("commands.label-config-missing", written=", ".join(self.written))
        return read_label_config(self.label_config)

    @cached_property
    def _file(self) -> TaskFile:
        return TaskFile.read(self.tasks)

    @cached_property
    def _columns(self) -> TaskColumns:
        shown = None if self.shown_columns is None else tuple(options.split(self.shown_columns))
        return TaskColumns(name=self.task_column, shown=shown)

    @cached_property
    def _rows(self) -> list[TaskRow]:
        return self._file.rows(self._domain, self._columns)

    @cached_property
    def _option_counts(self) -> list[int]:
        """The different numbers of options, if tasks list their own."""
        return counts_in(self._rows) if have_options(self._rows) else []

    @property
    def _planned_domain(self) -> Domain:
        """Possible answers of a task: as many as the largest number of options."""
        counts = self._option_counts
        return Categorical(range(counts[-1])) if counts else self._domain

    @property
    def _counts(self) -> dict[str, int]:
        """Most answers of a person, and the number of tasks."""
        tasks = len(self._rows)
        return {"answers": max(1, min(self._most or tasks, tasks, MAX_REPORTS)), "tasks": tasks}

    @property
    def _total(self) -> float:
        total = self.total_epsilon
        return self._of_round(usual_total(self._counts["answers"]) if total is None else total)

    def _of_round(self, total: float) -> float:
        """Return the loss of a round, for that of a window."""
        return total / self._rounded.parts

    @cached_property
    def _rounded(self) -> Rounded:
        rounds = self.planned_rounds
        if rounds is None:
            return Rounded()
        by_budget = rounds.division == "budget"
        return Rounded(slots=rounds.slots, parts=rounds.window if by_budget else 1)

    @property
    def _mechanism_name(self) -> str:
        return self.mechanism or next(iter(usual_makers(self._planned_domain)))

    @cached_property
    def _maker(self) -> Any:
        _, maker = choose_mechanism(self._mechanism_name)
        if isinstance(maker, BestMechanism):
            people, tasks = self.people or self.max_workers, len(self._rows)
            return maker.for_campaign(tasks=tasks, workers=people, answers=self._most)
        return maker

    @cached_property
    def _shares(self) -> Sequence[float]:
        return [1.0] if self.menu is None else read_menu(self.menu)[1]

    @cached_property
    def _mechanisms(self) -> Sequence[Mechanism]:
        """The mechanism of the campaign, or those of the menu."""
        if self.menu is None:
            return [self._chosen]
        totals, domain, maker = read_menu(self.menu)[0], self._planned_domain, self._maker
        found = [
            mechanism_within(
                sized_maker(maker), domain, self._of_round(total), "worker", **self._counts
            )
            for total in totals
        ]
        Mixture.of(found)  # raises if their reports cannot be joined
        return found

    @cached_property
    def _chosen(self) -> Mechanism:
        counts = self._option_counts
        return self._planned.among(self._domain, counts) if counts else self._planned

    @cached_property
    def _planned(self) -> Mechanism:
        domain, maker, counts = self._planned_domain, self._maker, self._counts
        if self.epsilon is not None:
            open_low = TwoLayerChoice.of(maker)
            if open_low is not None:
                maker = TwoLayerChoice(open_low, counts["answers"])
            made: Mechanism = maker(domain=domain, epsilon=self.epsilon)
            return made
        if isinstance(maker, BestMechanism):
            check_positive("--total-epsilon", self._total)
            return maker(domain=domain, epsilon=(1 - 1e-9) * self._total / counts["answers"])
        return mechanism_within(sized_maker(maker), domain, self._total, "worker", **counts)

    def _print_loss(self) -> None:
        """Print the privacy loss of a person, all answers first, and its meaning."""
        from quietcrowd.accounting.consent import show_protection
        from quietcrowd.planning.verdict import show_total

        counts, rounds = self._counts, self.planned_rounds
        for mechanism, share in zip(self._mechanisms, self._shares, strict=True):
            guarantee = mechanism.guarantee(**counts)
            losses = guarantee.tail or guarantee
            chance = "" if guarantee.tail is None else " with high probability"
            whom = "a person" if self.menu is None else f"{share:.0%} of the people"
            note(
                f"The total privacy loss of {whom} is at most ε = "
                f"{show_total(losses.total_epsilon, 4)}{chance}{' in a round' if rounds else ''}, "
                f"for {counted(counts['answers'], 'answer')} of at most "
                f"ε = {show_loss(losses.epsilon)} each. Someone who is 50 % sure of anything "
                f"about them becomes {show_protection(losses.total_epsilon)}."
            )
            if rounds is not None:
                found = rounds.losses(losses.total_epsilon)
                window = f"{show_total(found.window, 4)} in any {rounds.window:,} rounds in a row"
                note(
                    f"It is at most {f'{window}, and ' * (rounds.window > 1)}"
                    f"{show_total(found.campaign, 4)} in all {counted(rounds.cap, 'round')}, of "
                    f"which a person answers at most {rounds.most:,}."
                )

    def _check_result(self) -> dict[str, float] | None:
        """Print the predicted result, of each round; refuse a useless one.

        Returns the expected error of a menu.
        """
        from quietcrowd.planning.case import in_theory

        people = self._people_of_round()
        if people is not None and people < self.min_batch:
            return None
        try:
            case = self._case(people or 1)
        except ParameterError as error:
            note(f"The result cannot be predicted: {str(error).rstrip('.')}.")
            return None
        if people is None:
            fewest, least = in_theory(case), ""
            if fewest is not None:
                fewest *= self._rounded.slots
                least = f" A good result takes about {fewest:,} in theory."
            note(f"The quality of the result depends on the number of people: set --people.{least}")
            return None
        with Working("simulated crowds"):
            row = case.row()
        if self._option_counts:
            note(f"The prediction is for tasks with {self._option_counts[-1]} options each.")
        note(row.verdict)
        if not (row.standing == "good" or self.anyway):
            self._print_ways(case, row)
        if self.menu is None or self.goal is Goal.SHARES:
            return None
        return {"error": round(row.error, 4), "guess": round(row.constant, 4)}

    def _people_of_round(self) -> int | None:
        """Return how many people answer a round, or None if it is unknown; refuse too few."""
        people, slots = self.people or self.max_workers, self._rounded.slots
        if people is None:
            return None
        some = people // slots
        if slots > 1:
            note(
                f"Each round is answered by one person in {slots:,}, about {some:,} people. The "
                "prediction is for one round alone; later rounds also learn from earlier ones."
            )
        least = self.min_batch
        if some < least and not self.anyway:
            if people < least:
                raise ParameterError("commands.nothing-shown", people=people, least=least)
            raise ParameterError("commands.round-not-shown", people=people, some=some, least=least)
        if some < least:
            note(f"With {some:,} people, no result is shown: --min-batch is {least:,}.")
        return some

    def _print_ways(self, case: "Case", row: "PlanRow") -> None:
        note(f"Ways to a better result{'' if row.useless else ', in another draft'}:")
        ways: Iterable[tuple[str, str | None]]
        if self.menu is None:
            ways = ways_out(case, self._line, self._rounded)
        else:
            ways = more_people(case, self._line, self._rounded), (_OTHER_WAYS, None)
        for way, line in ways:
            note(f"- {way}" + (f"\n  {line}" if line else ""))
        if row.useless:
            raise ParameterError("commands.as-good-as-guessing", heading=row.heading)

    def _case(self, people: int) -> "Case":
        from quietcrowd.planning import CrowdSize
        from quietcrowd.planning.case import Case, make_case
        from quietcrowd.planning.crowd_assumption import assumption_for
        from quietcrowd.planning.menu_error import MenuCase, MenuSurveyCase, menu_case
        from quietcrowd.planning.survey_case import SurveyCase

        maker, is_survey = self._maker, self.goal is Goal.SHARES
        assumption = assumption_for(self._planned_domain)
        size = CrowdSize(workers=people, **self._counts)
        if self.menu is not None:
            own, shares = self._mechanisms, self._shares
            if is_survey:
                return menu_case(MenuSurveyCase, own, shares, assumption, size)
            return menu_case(MenuCase, own, shares, assumption, size)
        return make_case(
            kind=SurveyCase if is_survey else Case,
            assumption=assumption,
            name=self._mechanism_name,
            maker=type(self._planned).from_claimed_epsilon
            if isinstance(maker, BestMechanism)
            else sized_maker(maker),
            size=size,
            total=self._total if self.epsilon is None else None,
            epsilon=None,
            given=self._planned,
        )

    def _line(self, **changed: Any) -> str:
        most = 0 if self.people is None else self.max_workers or 0
        if changed.get("people", 0) > most:
            changed["max_workers"] = None
        if "answers_per_worker" in changed:
            changed["max_answers"] = None
        if "answers_per_worker" in changed or "total_epsilon" in changed:
            changed["epsilon"] = None
        return command_line(self, "campaign create", **changed)

    def _body(self) -> dict[str, Any]:
        handed_out = self.assign or Assignment.EVENLY
        rounds = self.planned_rounds
        entries = [
            {"mechanism": mechanism.to_dict(), "share": share}
            for mechanism, share in zip(self._mechanisms, self._shares, strict=True)
        ]
        return {
            **({"mechanism": self._chosen.to_dict()} if self.menu is None else {"menu": entries}),
            "rounds": None if rounds is None else rounds.to_dict(),
            "title": self.title,
            "goal": self.goal.value,
            "description": self.description,
            "method": None if self.method is None else choose_method(self.method).to_dict(),
            "join_mode": "open" if self.open_to_all else "invite",
            "answers_per_participant": self._most,
            "allotment": None if self.answers_per_worker is None else handed_out.allotment,
            "linked": self.max_linked,
            "max_participants": self.max_workers,
            "requester": self.requester,
            "contact": self.contact,
            "purpose": self.purpose,
            "retention_days": self.retention_days,
            "at_least": self.min_batch,
            "completion_code": self.completion_code,
            "closes_on": self.closes_on,
            "as_of": self.as_of,
            "drafts": self.drafts,
        }

    def _send(self, body: dict[str, Any], images: TaskImages, rows: list[TaskRow]) -> str:
        as_read = rows == self._rows and self._columns == TaskColumns()
        file = self._file if as_read else TaskFile.of(self.tasks, rows)
        with self.client() as client:
            made: str = checked(client.post("/campaigns", json=body)).json()["id"]
            with deleting_on_failure(client, made):
                upload_images(client, made, images.contents)
                for part in file.parts():
                    url, headers = f"/campaigns/{made}/tasks", {"Content-Type": file.media_type}
                    checked(client.post(url, content=part, headers=headers))
        return made


def _print_promises(body: dict[str, Any], rounds: Rounds | None) -> None:
    least = body["at_least"]
    if rounds is not None:
        note(
            f"A round is shown {spell_seconds(rounds.grace)} after its end, if at least {least:,} "
            "workers sent reports; otherwise with the next. Its reports are deleted after the next "
            f"{counted(rounds.keep, 'shown round')}; its results stay."
        )
    elif least > 1:
        note(
            f"Minimum batch size per release: {least:,} new workers. If fewer remain at closing, "
            "their reports are never released."
        )
    if body["join_mode"] == "open":
        note(f"Without invites {ANYONE}.")
    missing = [f"--{name}" for name in ("requester", "contact", "purpose") if not body[name]]
    if missing:
        note(f"A campaign cannot open without {', '.join(missing)}. Create it again with them.")
