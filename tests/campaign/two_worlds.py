"""Two servers with one past, which differ in what one worker did: asked the same, and compared."""

import hashlib
import re
import shutil
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
from attrs import Factory, define, evolve, field, frozen
from sqlalchemy import update
from tests.campaign.clocks import ROUNDS, Clock
from tests.campaign.people import PLAIN, YES_NO, Desk, Running, new_desk
from tests.campaign.pictures import PNG
from tests.campaign.waiting import LONG

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.campaign.terms.tokens import key_id, new_token, participant_id, token_hash

LEAST = 6
"""Workers who are shown at a time: more than send in one replay."""

OBSERVERS = 9

HOST = "crowd.example"
"""Under which both servers are asked: pages contain it."""

_TOKEN = re.compile(rb"qc[idr]_[A-Za-z0-9_-]{43}")
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_NAME = re.compile(rb"worker-[0-9a-f]{16}")


@frozen
class Person:
    """A worker, or somebody who can become one."""

    credential: str = Factory(lambda: new_token("qcw_"))
    invite: str | None = None

    @property
    def id(self) -> str:
        return participant_id(self.credential).hex()

    def report(self, task: str, value: int = 1) -> dict:
        """Return a report that both worlds are sent."""
        report_id = hashlib.sha256(f"{self.id}{task}".encode()).hexdigest()[:32]
        return {"report_id": report_id, "task_id": task, "value": value}


@frozen(kw_only=True)
class Past:
    """What both worlds have in common."""

    folder: Path
    made_at: float
    campaign: str
    draft: str
    config_hash: str
    tasks: list[str]
    key: str
    other_key: str
    spare_key: str
    token: str
    codes: list[str]
    version: int
    shown: list[Person]
    waiting: Person
    chosen: dict
    round: int | None
    late: Person
    unused: str | None
    names: list[str]
    known: frozenset[bytes]

    def join(self, person: Person, **changed) -> dict:
        """Return the body of a request to join."""
        return {
            "config_hash": self.config_hash,
            "invite": person.invite,
            **self.chosen,
            **changed,
        }

    def upload(self, *reports: dict) -> dict:
        of_round = {} if self.round is None else {"round": self.round}
        return {"config_hash": self.config_hash, "reports": list(reports), **of_round}


def past(folder: Path, join_mode: str, at_least: int = LEAST, **members) -> Past:
    """Make a server's past: a campaign with one release, results, and a worker who waits."""
    folder.mkdir()
    clock = Clock() if "rounds" in members else time.time
    unlimited = settings(folder, requests_per_second=0, joins_per_minute=0)
    server = Running(unlimited, clock=clock).start()
    try:
        return _play(server, folder, join_mode, at_least, members)
    finally:
        server.stop()


def settings(folder: Path, **members) -> Settings:
    fixed = {"infer": False, "trusted_proxy": "127.0.0.1", "metrics_port": 0, "longest_plan": 3_600}
    return Settings(**fixed, database=f"sqlite:///{folder}/quietcrowd.db", **members)


MENU = [{"total_epsilon": 1.0, "share": 0.7}, {"total_epsilon": 8.0, "share": 0.3}]
IN_ROUNDS = {
    **{"domain": YES_NO.to_dict(), "menu": MENU, "method": None},
    "rounds": {**ROUNDS, "window": 2, "step": 2},
}
"""The first round is shown, and the second one goes on; a worker chose both."""

OTHERWISE = {"choice": 1, "slot": 0}
"""What the worker of a campaign in rounds chooses in one of the worlds."""


def _play(server: Running, folder: Path, join_mode: str, at_least: int, members: dict) -> Past:
    desk = new_desk(server)
    campaign = desk.campaign(
        tasks=2,
        image=PNG,
        join_mode=join_mode,
        at_least=at_least,
        max_participants=LEAST + 1,
        completion_code="done",
        **{"method": qc.MajorityVote().to_dict(), **members},
    )
    invites = desk.invite(campaign, LEAST + 3) if join_mode == "invite" else [None] * (LEAST + 3)
    people = [Person(invite=invite) for invite in invites[: LEAST + 2]]
    config_hash = desk.guest(campaign).config_hash
    names, tasks, in_rounds = [], [], "rounds" in members
    for place, person in enumerate(people[:-1]):
        at = int(place == LEAST) if in_rounds else None
        chosen = {"choice": place % 2, "slot": at} if in_rounds else {}
        if in_rounds:
            server.clock.to(at)
            server.look()
        device = evolve(
            desk.guest(campaign),
            credential=person.credential,
            client=server.client(person.credential),
        )
        desk.join(device, person.invite, **chosen).raise_for_status()
        tasks = [task["task_id"] for task in device.tasks()]
        of_round = {"round": at} if in_rounds else {}
        device.send(*(person.report(task) for task in tasks), **of_round).raise_for_status()
        names.append(device.client.get("/me").json()["pseudonym"])
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    draft = _draft(desk)
    spare_key = issue_key(server.database, "spare")
    mine = {campaign, draft, *tasks, *(person.id for person in people)}
    return Past(
        folder=folder,
        made_at=server.clock(),
        campaign=campaign,
        draft=draft,
        config_hash=config_hash,
        tasks=tasks,
        key=desk.key,
        other_key=new_desk(server).key,
        spare_key=key_id(token_hash(spare_key)).hex(),
        token=desk.token(campaign),
        codes=[desk.code(campaign) for _ in range(OBSERVERS)],
        version=int(desk.client.get(f"/campaigns/{campaign}").headers["ETag"].strip('"')),
        shown=people[:LEAST],
        waiting=people[LEAST],
        chosen={"choice": 0, "slot": 1} if in_rounds else {},
        round=1 if in_rounds else None,
        late=people[LEAST + 1],
        unused=invites[LEAST + 2],
        names=names,
        known=frozenset(one.encode() for one in (*mine, *names)),
    )


def _draft(desk: Desk) -> str:
    draft: str = desk.draft()["id"]
    desk.import_csv(draft, "task,a\nold,1\n").raise_for_status()
    return draft


@define
class World:
    """A server that goes on from a past; where `fresh`, each request has a source of its own."""

    past: Past
    server: Running
    fresh: bool
    client: httpx.Client
    sources: Iterator[int] = field(factory=count)

    def ask(self, who: str, token: str | None, method: str, url: str, **members) -> httpx.Response:
        """Ask; `who` names the source, if each asker has one."""
        name = next(self.sources) if self.fresh else int.from_bytes(token_hash(who)[:2])
        headers = {
            "Host": HOST,
            "X-Forwarded-For": f"10.{name // 65_536}.{name // 256 % 256}.{name % 256}",
            **({} if token is None else {"Authorization": f"Bearer {token}"}),
            **members.pop("headers", {}),
        }
        return self.client.request(method, url, headers=headers, **members)

    def act(self, person: Person, what: str) -> None:
        """Do what the worker does; who moves goes on with another credential."""
        api, past, code = "/api/v1", self.past, 16 * "7"
        if what.startswith("move"):
            self.act(Person(invite=person.invite), what.replace("move", "continue"))
            return
        if what == "have chosen otherwise":
            mine = tables.participant.c.id == bytes.fromhex(person.id)
            with self.server.database.write() as connection:
                connection.execute(update(tables.participant).where(mine).values(OTHERWISE))
            return
        joining = f"{api}/public/campaigns/{past.campaign}/participants/{person.id}"
        again = {"code": code, "continues": True}
        elsewhere = {"json": past.join(person, **again, **OTHERWISE)}
        asked = {
            "choose": ("PUT", joining, {"json": past.join(person, code=code, **OTHERWISE)}),
            "join": ("PUT", joining, {"json": past.join(person, code=code)}),
            "continue": ("PUT", joining, {"json": past.join(person, **again)}),
            "continue otherwise": ("PUT", joining, elsewhere),
            "place": ("PUT", f"{api}/me/place", {}),
            "send": (
                "POST",
                f"{api}/me/reports",
                {"json": past.upload(*map(person.report, past.tasks))},
            ),
            "leave": ("DELETE", f"{api}/me", {}),
        }
        method, url, members = asked[what]
        who = "the worker, elsewhere" if what.startswith("continue") else "the worker"
        self.ask(who, person.credential, method, url, **members).raise_for_status()

    def infer(self) -> None:
        Inferrer(self.server.database).infer(bytes.fromhex(self.past.campaign))

    def metrics(self) -> list[str]:
        """Return what is published now; sums and buckets of times differ by chance."""
        found = self.server.app.state.metrics
        found.publisher.look()
        text = httpx.get(f"http://127.0.0.1:{found.port}/metrics", verify=PLAIN, timeout=LONG).text
        return [line for line in text.splitlines() if "_seconds" not in line]

    def seen(self, answer: httpx.Response) -> tuple:
        """Return an answer but for what is random: all of that is in this function.

        The date; tokens that were just issued; ids of campaigns and pseudonyms of workers that this
        replay made, which are not in the past.
        """
        headers = [pair for pair in answer.headers.items() if pair[0] != "date"]
        text = repr((sorted(headers), answer.content)).encode()
        text = _TOKEN.sub(b"TOKEN", text)
        for pattern in (_ID, _NAME):
            text = pattern.sub(self._known_or_new, text)
        return answer.status_code, text

    def _known_or_new(self, found: re.Match[bytes]) -> bytes:
        return found[0] if found[0] in self.past.known else b"NEW"


def world(past: Past, folder: Path, *, fresh: bool, **members) -> World:
    """Start a server on a copy of a past; for it no time passes, so that nothing expires."""
    shutil.copytree(past.folder, folder)
    server = Running(settings(folder, **members), clock=lambda: past.made_at).start()
    client = httpx.Client(base_url=server.url, timeout=LONG, verify=PLAIN)
    server.clients.append(client)
    return World(past, server, fresh, client)
