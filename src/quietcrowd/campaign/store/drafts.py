"""Drafts: their configuration, whether they can be opened, and copies of campaigns."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, literal, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import fixed_allotment
from quietcrowd.campaign.store.campaigns import day_of
from quietcrowd.campaign.store.database import insert_rows
from quietcrowd.campaign.store.menus import MenuDraft, rounds_of
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.campaign.terms.configuration import Configuration, build_configuration
from quietcrowd.campaign.terms.images import named_images
from quietcrowd.campaign.terms.near_copies import notes_on_copies
from quietcrowd.campaign.terms.plain_text import reading_order
from quietcrowd.campaign.terms.promises import USUAL_RETENTION_DAYS, Promises
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.exceptions import QuietcrowdError

_SAID = {"requester": "requester_name", "contact": "contact", "purpose": "purpose"}
"""Texts without which no draft opens: the members, and their columns."""

_PLACEHOLDER = "…"

_FIELDS = {
    "campaign.allotment-out-of-range": "answers_per_participant",
    "campaign.allotment-needs-taskwise": "allotment",
    "campaign.answers-out-of-range": "answers_per_participant",
    "campaign.copies-undeclared": "linked",
    "campaign.as-of-not-a-day": "as_of",
}
"""Members at fault by the code of an error; all other errors are about the tasks."""


class Obstacle(NamedTuple):
    """A reason why a draft cannot be opened, and the member of the campaign at fault."""

    field: str
    message: str


def fixed_configuration(row: Any, tasks: Sequence[Any]) -> Configuration:
    """Build the configuration of a draft, slowly, or raise `ProblemError` if it is incomplete."""
    missing = [name for name, column in _SAID.items() if not row._mapping[column].strip()]
    if missing:
        raise ProblemError(
            "not-ready",
            "Workers see the requester, contact, purpose and retention time before they join. Set "
            "requester, contact, purpose and retention_days of the draft, and open it again. "
            "campaign create has the options --requester, --contact, --purpose and "
            "--retention-days.",
        )
    try:
        return _configuration(row, tasks)
    except QuietcrowdError as error:
        raise ProblemError(
            "not-ready",
            f"{str(error).rstrip('.')}. A campaign needs tasks. If every worker reports every "
            "task, all must fit into one upload or sketch. linked must be at least the number of "
            "tasks with identical or similar questions. If workers are assigned tasks, set "
            "answers_per_participant to at most the number of tasks.",
        ) from None


def previewed_configuration(row: Any, tasks: Sequence[Any]) -> dict[str, Any]:
    """Return the configuration of a campaign, in a draft with dots for missing texts.

    Raises ProblemError, with the member at fault, if a draft has none.
    """
    if row.config is not None:
        found: dict[str, Any] = json.loads(row.config)
        return found
    try:
        drafted: dict[str, Any] = json.loads(_configuration(row, tasks).text)
    except QuietcrowdError as error:
        obstacle = _obstacle(error)
        raise ProblemError("not-ready", f"{obstacle.field}: {obstacle.message}") from None
    return drafted


def _configuration(row: Any, tasks: Sequence[Any]) -> Configuration:
    said = {name: row._mapping[column] for name, column in _SAID.items()}
    promises = Promises(
        **{name: text if text.strip() else _PLACEHOLDER for name, text in said.items()},
        retention_days=row.retention_days,
        at_least=row.at_least,
    )
    menu = MenuDraft.read(row.menu)
    return build_configuration(
        campaign=row.id.hex(),
        title=row.title,
        description=row.description,
        mechanism=parse_mechanism(row.mechanism) if menu is None else menu.agreed(),
        answers=row.answers_per_participant,
        linked=row.linked,
        tasks=[(one.id.hex(), one.name, json.loads(one.data)) for one in tasks],
        promises=promises,
        allotment=row.allotment,
        requester_id=row.requester_id.hex(),
        as_of=row.as_of,
        drafts=row.join_mode == "invite" if row.drafts is None else bool(row.drafts),
        rounds=rounds_of(row.rounds),
    )


def obstacles(
    row: Any, tasks: Sequence[Any], images: Collection[str], now: float
) -> Iterator[Obstacle]:
    """Yield all that prevents the opening of a draft; `images` are the hashes of stored ones."""
    for name, column in _SAID.items():
        if not row._mapping[column].strip():
            yield Obstacle(name, "People see it before they join. It must not be empty.")
    if row.closes_on is not None and row.closes_on < day_of(now):
        yield Obstacle("closes_on", "This day is over in UTC. Choose a later one, or none.")
    yield from obstacles_to_rounds(row, now)
    missing = set(named_images(json.loads(task.data) for task in tasks)) - set(images)
    if missing:
        yield Obstacle(
            "images", f"{len(missing):,} images of the tasks are missing. Send them again."
        )
    try:
        _configuration(row, tasks)
    except QuietcrowdError as error:
        yield _obstacle(error)


def obstacles_to_rounds(row: Any, now: float) -> Iterator[Obstacle]:
    """Yield all that prevents a draft's rounds."""
    rounds, most = rounds_of(row.rounds), row.max_participants
    if rounds is None:
        return
    if row.at_least == 1:
        yield Obstacle("at_least", "Rounds are shown from 2 people on. Choose 2 or more.")
    if rounds.begin(0) < now:
        yield Obstacle("rounds", "The first round has begun. Choose a later time.")
    if most is not None and most // rounds.slots < row.at_least:
        yield Obstacle(
            "max_participants",
            f"{most // rounds.slots:,} people in each round, one in {rounds.slots:,} of "
            f"{most:,}, are fewer than the {row.at_least:,} whose reports are shown at a time.",
        )


def _obstacle(error: QuietcrowdError) -> Obstacle:
    text = str(error)
    message = f"{text[:1].upper()}{text[1:].rstrip('.')}."
    return Obstacle(_FIELDS.get(error.code, "tasks"), message)


def notes_on_draft(row: Any, tasks: Sequence[Any]) -> list[str]:
    """Return sentences about the questions of a draft that do not prevent its opening."""
    ordered = sorted(tasks, key=lambda one: reading_order(one.name))
    shown = [(one.name, json.loads(one.data)) for one in ordered]
    mechanism = parse_mechanism(row.mechanism)
    notes = notes_on_copies(shown, mechanism, row.answers_per_participant, row.linked)
    rounds, links = rounds_of(row.rounds), row.invites_made
    if rounds is not None and rounds.slots > 1:
        about = f"about {links // rounds.slots:,} of {links:,}" if links else "as many fewer"
        notes.append(
            f"Each person answers one round in {rounds.slots:,}, so {about} people answer in each. "
            f"A round with reports of fewer than {row.at_least:,} people is shown with the next."
        )
    return notes


def image_hashes(connection: Connection, campaign: bytes) -> list[str]:
    """Return the hashes of a campaign's stored images."""
    table = tables.image.c
    found = connection.scalars(select(table.sha256).where(table.campaign_id == campaign))
    return [one.hex() for one in found]


_COPIED = (
    *("requester_id", "description", "mechanism", "method", "join_mode", "linked"),
    *("answers_per_participant", "max_participants", "requester_name", "contact", "purpose"),
    *("at_least", "completion_code", "as_of", "drafts", "goal", "chosen", "tasks"),
    *("menu", "rounds"),
)
_LONGEST_TITLE = 200
_OF_COPY = " (copy)"


def copy_campaign(connection: Connection, row: Any, now: float) -> bytes:
    """Create a draft with the settings, tasks and images of a campaign; return its id.

    Data of workers is not copied, nor a closing day that is over.
    """
    campaign, day = new_id(), row.closes_on
    values = {
        **{name: row._mapping[name] for name in _COPIED},
        "id": campaign,
        "title": row.title[: _LONGEST_TITLE - len(_OF_COPY)] + _OF_COPY,
        "state": "draft",
        "version": 1,
        "allotment": fixed_allotment(row),
        "retention_days": row.retention_days or USUAL_RETENTION_DAYS,
        "closes_on": None if day is None or day < day_of(now) else day,
        "erasures": 0,
        "invites_used": 0,
    }
    connection.execute(insert(tables.campaign), values)
    task, image = tables.task, tables.image
    held = select(task.c.position, task.c.name, task.c.data, task.c.gold)
    copied = [
        (new_id(), campaign, *one, 0)
        for one in connection.execute(held.where(task.c.campaign_id == row.id))
    ]
    insert_rows(connection, task, copied)
    names = [column.name for column in image.columns if column.name != "campaign_id"]
    mine = select(literal(campaign), *(image.c[name] for name in names))
    connection.execute(
        insert(image).from_select(
            ["campaign_id", *names], mine.where(image.c.campaign_id == row.id)
        )
    )
    return campaign
