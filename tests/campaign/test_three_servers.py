"""Three servers on one PostgreSQL, and more people at once than it gives connections."""

import asyncio
import secrets
from collections import Counter
from contextlib import ExitStack

import httpx
import psycopg
import pytest
from attrs import define, field
from tests.campaign.people import PLAIN
from tests.campaign.postgresql import HOW_TO_GET_IT, find_programs, postgresql
from tests.campaign.server_process import new_key, server_process
from tests.campaign.uploading import Campaign, open_campaign, stored
from tests.campaign.waiting import LONG

from quietcrowd.campaign.terms.tokens import new_token, participant_id

PEOPLE = 150
GIVEN = 97
PATIENT = ("--set", "pool_seconds=600")
"""The test is about connections to PostgreSQL: a machine that is busy with others may take its
time."""


@define
class Person:
    """Somebody who joins, reads the tasks, sends all reports, and looks at them."""

    campaign: Campaign
    client: httpx.AsyncClient
    statuses: Counter
    sent: list[str] = field(factory=list)
    credential: str = field(factory=lambda: new_token("qcw_"))

    async def ask(self, method: str, path: str, **body: object) -> dict:
        shown = {"Authorization": f"Bearer {self.credential}"}
        answer = await self.client.request(method, path, headers=shown, **body)
        self.statuses[answer.status_code] += 1
        return answer.raise_for_status().json() if answer.content else {}

    async def play(self) -> None:
        hashed = {"config_hash": self.campaign.config_hash}
        me = participant_id(self.credential).hex()
        await self.ask(
            "PUT", f"/public/campaigns/{self.campaign.id}/participants/{me}", json=hashed
        )
        tasks = [one["task_id"] for one in (await self.ask("GET", "/me/tasks"))["tasks"]]
        self.sent = [secrets.token_hex(16) for _ in tasks]
        reports = [
            {"report_id": own, "task_id": task, "value": 1}
            for own, task in zip(self.sent, tasks, strict=True)
        ]
        await self.ask("PUT", "/me/place")
        await self.ask("POST", "/me/reports", json={**hashed, "reports": reports})
        await self.ask("GET", "/me/reports")


async def all_at_once(addresses: list[str], campaign: Campaign) -> tuple[Counter, list[str]]:
    """Let all people come at once, and return the statuses and what they sent."""
    statuses: Counter = Counter()
    async with asyncio.timeout(LONG), asyncio.TaskGroup() as tasks:
        people = [
            Person(
                campaign,
                httpx.AsyncClient(base_url=address, timeout=LONG, verify=PLAIN),
                statuses,
            )
            for address in (addresses * PEOPLE)[:PEOPLE]
        ]
        for person in people:
            tasks.create_task(person.play())
    for person in people:
        await person.client.aclose()
    return statuses, [one for person in people for one in person.sent]


@pytest.mark.nightly
def test_nobody_is_refused_for_want_of_a_connection(tmp_path):
    programs = find_programs()
    if programs is None:
        pytest.skip(HOW_TO_GET_IT)
    with postgresql(programs) as own, ExitStack() as running:
        url = own.new_database()
        with psycopg.connect(url) as connection:
            [(most,)] = connection.execute("SHOW max_connections").fetchall()
        assert int(most) - 3 == GIVEN < PEOPLE
        key = new_key(url)
        servers = [
            running.enter_context(server_process(url, tmp_path / name, *more, *PATIENT))
            for name, more in (("a", ()), ("b", ("--no-infer",)), ("c", ("--no-infer",)))
        ]
        campaign = open_campaign(servers[0].base_url, key, 3)
        told = all_at_once([server.base_url for server in servers], campaign)
        statuses, sent = asyncio.run(told)
        assert statuses == {201: PEOPLE, 200: 3 * PEOPLE, 204: PEOPLE}
        assert sorted(stored(url, campaign)) == sorted(sent)
        assert f" of {GIVEN} in use" in (tmp_path / "c").read_text()
