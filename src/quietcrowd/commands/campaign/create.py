"""``quietcrowd campaign create``: a draft with its tasks."""

from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

from quietcrowd.campaign.terms.configuration import check_as_of
from quietcrowd.campaign.terms.promises import (
    ANYONE,
    MAX_AT_LEAST,
    MAX_RETENTION_DAYS,
    USUAL_AT_LEAST,
    USUAL_RETENTION_DAYS,
    Allotment,
    AllotmentKind,
)
from quietcrowd.campaign.terms.tasks import TaskColumns, TaskRow
from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import OnServer, checked, deleting_on_failure
from quietcrowd.commands.campaign.tasks import (
    TaskFile,
    TaskImages,
    print_alike_tasks,
    summarize_tasks,
    upload_images,
)
from quietcrowd.commands.choices import (
    METHODS_LISTED,
    Privacy,
    choose_mechanism,
    choose_method,
    method_option,
)
from quietcrowd.commands.declare import argument, command, option, option_group
from quietcrowd.commands.makers import BestMechanism, TwoLayerChoice
from quietcrowd.commands.options import PossibleAnswers
from quietcrowd.commands.printing import note, print_no_signal
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.platforms.label_studio_config import read_label_config
from quietcrowd.mechanisms import Mechanism


class Assignment(StrEnum):
    """How tasks are assigned, as on the command line."""

    EVENLY = "evenly"
    ADAPTIVE = "adaptive"

    @property
    def allotment(self) -> AllotmentKind:
        """Value in the configuration of a campaign."""
        return "random" if self is Assignment.EVENLY else "suggested"


@option_group("Workers")
class WorkerOptions:
    """Options for the number of workers and of their answers."""

    max_answers: int | None = option(
        min=1, metavar="NUMBER", help="Maximum number of answers per worker.", default=None
    )
    answers_per_worker: int | None = option(
        min=1,
        metavar="NUMBER",
        help="Number of tasks assigned to each worker, instead of --max-answers.",
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
class Create(Privacy, PossibleAnswers, WorkerOptions, Promises, OnServer):
    """Create a draft with tasks and print its id.

    A note describes how the file was read. With -m two-layer, epsilon bounds the privacy loss of
    one answer if a worker gives the maximum number of answers. The smallest flip probability
    follows from this bound, unless you set it, as in two-layer:low=0.

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes -e 1
    --requester "Bird group" --contact birds@example.org --purpose "A map of birds"

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes
    --as-of 2026-12-01

    Example: quietcrowd campaign create Birds --tasks tasks.json --label-config project.xml

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes
    --answers-per-worker 5 --assign adaptive
    """

    title: str = argument(metavar="TITLE", help="Title that workers see.")
    tasks: Path = option(
        metavar="FILE",
        help="Tasks as .csv, .tsv, .jsonl or .json, also of Label Studio. Workers see all columns "
        "except id and gold. A column image names files in the same directory.",
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
    planned: bool = option(
        "--plan",
        help="First print the expected error with --max-workers, as quietcrowd plan does.",
        default=False,
    )

    def run(self) -> None:
        """Create the draft and print its id."""
        self._check()
        body, written, chosen = self._body(), self._rows, self._chosen
        if self.answers_per_worker is not None:
            kind = body["allotment"]
            Allotment.of(
                kind, mechanism=self._chosen, answers=self.answers_per_worker, tasks=len(written)
            )
        if self.planned:
            from quietcrowd.commands.plan_table import print_expected_errors

            size = {"workers": self.max_workers, "answers": self._most}
            print_expected_errors(chosen, self.mechanism, tasks=len(written), **size)
        images, rows = TaskImages.read(self.tasks, written)
        made = self._send(body, images, rows)
        note(summarize_tasks(rows))
        if images.contents:
            note(images.summary)
        print_no_signal(chosen)
        print_alike_tasks(rows, chosen, self._most, linked=self.max_linked)
        _print_promises(body)
        typer.echo(made)

    def _check(self) -> None:
        if self.as_of is not None:
            check_as_of(self.as_of)
        if self.max_answers is not None and self.answers_per_worker is not None:
            raise ParameterError("commands.answers-option-missing")
        if self.assign is not None and self.answers_per_worker is None:
            raise ParameterError("commands.assign-needs-answers-per-worker")

    @property
    def _most(self) -> int | None:
        return self.max_answers if self.answers_per_worker is None else self.answers_per_worker

    @cached_property
    def _domain(self) -> Domain:
        if self.label_config is None:
            return self.domain()
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
    def _chosen(self) -> Mechanism:
        domain = self._domain
        _, maker = choose_mechanism(self.mechanism)
        most = self._most
        if isinstance(maker, BestMechanism):
            count = len(self._rows)
            maker = maker.for_campaign(tasks=count, workers=self.max_workers, answers=most)
        open_low = TwoLayerChoice.of(maker)
        if open_low is not None:
            count = len(self._rows)
            maker = TwoLayerChoice(open_low, count if most is None else min(most, count))
        return maker(domain=domain, epsilon=self.epsilon)

    def _body(self) -> dict[str, Any]:
        handed_out = self.assign or Assignment.EVENLY
        return {
            "title": self.title,
            "description": self.description,
            "mechanism": self._chosen.to_dict(),
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


def _print_promises(body: dict[str, Any]) -> None:
    least = body["at_least"]
    if least > 1:
        note(
            f"Minimum batch size per release: {least:,} new workers. If fewer remain at closing, "
            "their reports are never released."
        )
    if body["join_mode"] == "open":
        note(f"Without invites {ANYONE}.")
    missing = [f"--{name}" for name in ("requester", "contact", "purpose") if not body[name]]
    if missing:
        note(f"A campaign cannot open without {', '.join(missing)}. Create it again with them.")
