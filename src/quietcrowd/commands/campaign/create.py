"""Creation of a draft with its tasks, from the options of ``quietcrowd campaign create``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from attrs import frozen

from quietcrowd.campaign.terms.allotment import Allotment
from quietcrowd.campaign.terms.configuration import check_as_of
from quietcrowd.campaign.terms.near_copies import largest_group, look_alike_tasks
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.promises import ANYONE
from quietcrowd.campaign.terms.tasks import TaskColumns, TaskRow
from quietcrowd.commands import options
from quietcrowd.commands.best_choice import BestMechanism
from quietcrowd.commands.campaign.campaign_options import HandingOut
from quietcrowd.commands.campaign.client import checked, requester_client
from quietcrowd.commands.campaign.images import TaskImages, upload_images
from quietcrowd.commands.campaign.tasks import TaskFile, summarize_tasks
from quietcrowd.commands.choices import choose_mechanism, choose_method
from quietcrowd.commands.printing import note, tell_no_signal
from quietcrowd.commands.two_layer_choice import TwoLayerChoice
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.platforms.label_studio_config import read_label_config
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    import httpx

__all__ = ["NewCampaign"]

_MOST_NOTES = 5


@frozen(kw_only=True, slots=False)
class NewCampaign:
    """Campaign as the options describe it, one attribute per option.

    The task file is read once and only when needed, so an invalid mechanism fails first.
    """

    title: str
    tasks: Path
    show: str | None
    id_column: str | None
    mechanism: str
    epsilon: float
    labels: str | None
    levels: str | None
    between: str | None
    label_config: Path | None
    description: str
    method: str | None
    answers: int | None
    answers_each: int | None
    hand_out: HandingOut | None
    linked: int | None
    participants: int | None
    requester: str
    contact: str
    purpose: str
    keep_days: int
    at_least: int
    completion_code: str | None
    closes: str | None
    as_of: str | None
    for_all: bool
    planned: bool
    server: str
    secret: str

    def make(self) -> None:
        """Create the draft and print its id.

        Raises ParameterError if options contradict each other or the server rejects the campaign,
        and FormatError if the task file is invalid.
        """
        self._check()
        body, written, chosen = self._body(), self._rows, self._chosen
        if self.answers_each is not None:
            kind = body["allotment"]
            Allotment.of(
                kind, mechanism=self._chosen, answers=self.answers_each, tasks=len(written)
            )
        if self.planned:
            from quietcrowd.commands.campaign.plan_campaign import tell_plan

            size = {"workers": self.participants, "answers": self._most}
            tell_plan(chosen, self.mechanism, tasks=len(written), **size)
        images, rows = TaskImages.read(self.tasks, written)
        made = self._send(body, images, rows)
        note(summarize_tasks(rows))
        if images.contents:
            note(images.summary)
        tell_no_signal(chosen)
        self._tell_linked(rows)
        _tell_promises(body)
        typer.echo(made)

    def _check(self) -> None:
        if self.as_of is not None:
            check_as_of(self.as_of)
        if self.answers is not None and self.answers_each is not None:
            raise ParameterError(
                "give --answers, or --answers-each, which says it for every worker"
            )
        if self.hand_out is not None and self.answers_each is None:
            raise ParameterError(
                "--hand-out goes with --answers-each: how many of the tasks each gets"
            )

    def _tell_linked(self, rows: list[TaskRow]) -> None:
        """Print how many answers share one question, and which tasks have look-alike letters."""
        shown = [
            (row.name or str(place), json.loads(row.data)) for place, row in enumerate(rows, 1)
        ]
        found = min(largest_group(shown, self._chosen), self._most or len(rows))
        if self.linked is None and found > 1:
            note(
                f"Up to {found:,} answers of a worker count as answers to one question: their "
                "tasks show the same letters, and may differ in numbers or ids alone. Workers are "
                "told so. If these are different questions, write what differs in words."
            )
        for names in look_alike_tasks(shown)[:_MOST_NOTES]:
            more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
            note(
                f"Tasks {', '.join(map(one_line, names[:3]))}{more} look alike, but contain "
                "different characters, such as a Cyrillic and a Latin a. They count as one "
                "question. Write each letter in one script."
            )

    @property
    def _most(self) -> int | None:
        return self.answers if self.answers_each is None else self.answers_each

    @cached_property
    def _domain(self) -> Domain:
        written = (self.labels, self.levels, self.between)
        if self.label_config is None:
            return options.build_domain(*written)
        if any(option is not None for option in written):
            raise ParameterError(f"give --label-config or one of {', '.join(options.DOMAIN)}")
        return read_label_config(self.label_config)

    @cached_property
    def _file(self) -> TaskFile:
        return TaskFile.read(self.tasks)

    @cached_property
    def _columns(self) -> TaskColumns:
        shown = None if self.show is None else tuple(options.split(self.show))
        return TaskColumns(name=self.id_column, shown=shown)

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
            maker = maker.for_campaign(tasks=count, workers=self.participants, answers=most)
        open_low = TwoLayerChoice.of(maker)
        if open_low is not None:
            count = len(self._rows)
            maker = TwoLayerChoice(open_low, count if most is None else min(most, count))
        return maker(domain=domain, epsilon=self.epsilon)

    def _body(self) -> dict[str, Any]:
        handed_out = self.hand_out or HandingOut.EVENLY
        return {
            "title": self.title,
            "description": self.description,
            "mechanism": self._chosen.to_dict(),
            "method": None if self.method is None else choose_method(self.method).to_dict(),
            "join_mode": "open" if self.for_all else "invite",
            "answers_per_participant": self._most,
            "allotment": None if self.answers_each is None else handed_out.allotment,
            "linked": self.linked,
            "max_participants": self.participants,
            "requester": self.requester,
            "contact": self.contact,
            "purpose": self.purpose,
            "retention_days": self.keep_days,
            "at_least": self.at_least,
            "completion_code": self.completion_code,
            "closes_on": self.closes,
            "as_of": self.as_of,
        }

    def _send(self, body: dict[str, Any], images: TaskImages, rows: list[TaskRow]) -> str:
        as_read = rows == self._rows and self._columns == TaskColumns()
        file = self._file if as_read else TaskFile.of(self.tasks, rows)
        with requester_client(self.server, self.secret) as client:
            made: str = checked(client.post("/campaigns", json=body)).json()["id"]
            with _deleting_on_failure(client, made):
                upload_images(client, made, images.contents)
                for part in file.parts():
                    url, headers = f"/campaigns/{made}/tasks", {"Content-Type": file.media_type}
                    checked(client.post(url, content=part, headers=headers))
        return made


def _tell_promises(body: dict[str, Any]) -> None:
    least = body["at_least"]
    if least > 1:
        note(
            f"You will be shown reports of at least {least:,} new workers at a time. Fewer that "
            "are left when you close it are never shown."
        )
    if body["join_mode"] == "open":
        note(f"Without invites {ANYONE}.")
    missing = [f"--{name}" for name in ("requester", "contact", "purpose") if not body[name]]
    if missing:
        note(f"It cannot be opened without {', '.join(missing)}: create it again with them.")


@contextmanager
def _deleting_on_failure(client: httpx.Client, draft: str) -> Iterator[None]:
    """Delete the draft if the upload of its tasks fails; print its id if the deletion fails too."""
    import httpx

    try:
        yield
    except BaseException:
        try:
            deleted = client.delete(f"/campaigns/{draft}").is_success
        except httpx.TransportError:
            deleted = False
        if not deleted:
            note(f"The draft {draft} stays on the server, perhaps with some of its tasks.")
        raise
