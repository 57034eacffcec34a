"""Thousands of copies of a campaign, each in one of two worlds by chance, to time requests."""

import http.client
import json
import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import Factory, frozen
from scipy.stats import rankdata
from sqlalchemy import Connection, insert, select
from tests.campaign.two_worlds import Past, Person, World
from tests.campaign.waiting import LONG

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.terms.tokens import new_token, participant_id, token_hash

EACH = 2_000
"""Copies in each world."""

_COPIED = (
    *(tables.campaign, tables.task, tables.participant, tables.report, tables.round_report),
    *(tables.inference, tables.result_page, tables.shown_round, tables.round_page),
)

Rows = dict[Any, list[dict[str, Any]]]


@frozen(kw_only=True)
class Copy:
    """A copy of a campaign.

    Attributes
    ----------
    acted : bool
        Whether the worker did what there are two worlds of.
    campaign : str
        Its id.
    credential : str
        Of another worker, who is shown.
    invite : str
        Of the worker: spent, reserved or free.
    somebody : Person
        Who has not joined.
    """

    acted: bool
    campaign: str
    credential: str
    invite: str
    somebody: Person = Factory(Person)


def copies(one: World, steps: Sequence[str], before: Sequence[str] = ()) -> list[Copy]:
    """Copy a campaign as it is before and after steps of its worker, in random order."""
    past, database = one.past, one.server.database
    worlds = []
    for step in before:
        one.act(past.late, step)
    with database.read() as connection:
        worlds.append(_rows(connection, past.campaign))
    for step in steps:
        one.act(past.late, step)
    with database.read() as connection:
        worlds.append(_rows(connection, past.campaign))
    spent = "place" in steps
    acted = [False, True] * EACH
    random.SystemRandom().shuffle(acted)
    with database.write() as connection:
        return [_copy(connection, worlds[which], which, past, spent) for which in acted]


def _rows(connection: Connection, campaign: str) -> Rows:
    found = {}
    for table in _COPIED:
        key = table.c.id if table is tables.campaign else table.c.campaign_id
        rows = connection.execute(select(table).where(key == bytes.fromhex(campaign)))
        found[table] = [dict(row) for row in rows.mappings()]
    return found


def _copy(connection: Connection, rows: Rows, acted: bool, past: Past, spent: bool) -> Copy:
    """Write rows with ids of their own; the worker's invite is valid until it is spent."""
    late = bytes.fromhex(past.late.id)
    campaign, invite = secrets.token_bytes(16), new_token("qci_")
    credentials = {row["id"]: new_token("qcw_") for row in rows[tables.participant]}
    ids = {row["id"]: secrets.token_bytes(16) for row in rows[tables.task]}
    ids |= {old: participant_id(new) for old, new in credentials.items()}
    for table, some in rows.items():
        new = [{**row, **_renamed(row, campaign, ids)} for row in some]
        if table is tables.campaign:
            new[0]["id"] = campaign
        if table is tables.participant:
            for old, row in zip(some, new, strict=True):
                row["token_sha256"] = token_hash(credentials[old["id"]])
                if old["id"] == late:
                    row["invite_sha256"] = token_hash(invite)
        if new:
            connection.execute(insert(table), new)
    revoked = {invite: int(acted and spent)} | {new_token("qci_"): 0 for _ in range(3)}
    connection.execute(
        insert(tables.invite),
        [
            {"campaign_id": campaign, "token_sha256": token_hash(one), "revoked": value}
            for one, value in revoked.items()
        ],
    )
    return Copy(
        acted=acted,
        campaign=campaign.hex(),
        credential=credentials[bytes.fromhex(past.shown[1].id)],
        invite=invite,
    )


def _renamed(row: Mapping[str, Any], campaign: bytes, ids: Mapping[bytes, bytes]) -> dict[str, Any]:
    found = {
        name: ids[row[name]] for name in ("id", "task_id", "participant_id") if row.get(name) in ids
    }
    return {**found, **({"campaign_id": campaign} if "campaign_id" in row else {})}


def seconds(address: str, some: list[Copy], request: Callable[[Copy], tuple]) -> np.ndarray:
    """Return how long one request of each copy takes, asked in random order, one after the other.

    A request is a method, a path, a token or None, and a JSON document or None.
    """
    order = list(range(len(some)))
    random.SystemRandom().shuffle(order)
    found, statuses = np.empty(len(some)), set()
    connection = http.client.HTTPConnection(address, timeout=LONG)
    for place in order:
        method, path, token, document = request(some[place])
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        body = None if document is None else json.dumps(document)
        begun = time.perf_counter()
        connection.request(method, f"/api/v1{path}", body, headers)
        answer = connection.getresponse()
        answer.read()
        found[place] = time.perf_counter() - begun
        statuses.add(answer.status)
    connection.close()
    assert len(statuses) == 1, statuses
    return found


def area(times: np.ndarray, acted: np.ndarray) -> float:
    """Return the area under the curve of telling worlds by times: 1/2 where these say nothing."""
    ranks = rankdata(times)[acted]
    return float((ranks.mean() - (len(ranks) + 1) / 2) / (~acted).sum())
