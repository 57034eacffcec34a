"""A running server, requesters, and workers, as the tests of the service need them."""

import secrets
import time
from contextlib import ExitStack
from functools import cache
from itertools import chain, cycle

import httpx
import pandas as pd
import pyarrow as pa
from attrs import Factory, define, evolve, field
from sqlalchemy import update
from tests.campaign.pictures import hash_of
from tests.campaign.pictures import image as name_image
from tests.campaign.promises import PROMISES
from tests.campaign.waiting import LONG

import quietcrowd as qc
from quietcrowd.campaign.server.app import create_app, serve_in_background
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channels import why_not_in_page
from quietcrowd.campaign.terms.tokens import new_token, participant_id

PLAIN = False
"""Certificates: reading all that a machine trusts takes longer than most of the tests."""

YES_NO = qc.Categorical(["no", "yes"])


@define
class Running:
    """A server in a thread of this process."""

    settings: Settings
    clock: object = time.time
    app: object = None
    url: str = ""
    clients: list[httpx.Client] = Factory(list)
    _open: ExitStack = field(factory=ExitStack, init=False)

    def start(self) -> "Running":
        settings = self.settings.model_copy(update={"port": 0})
        server = self._open.enter_context(serve_in_background(settings, self.clock))
        self.app, self.url = server.app, server.url
        return self

    def stop(self) -> None:
        for client in self.clients:
            client.close()
        self._open.close()

    def look(self) -> None:
        """Close, show and delete what is due, which two readings of the clock must agree on."""
        for _ in range(2):
            self.app.state.retention.look()

    @property
    def service(self):
        return self.app.state.service

    @property
    def database(self) -> Database:
        return self.service.database

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.clients.append(
            httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=LONG, verify=PLAIN)
        )
        return self.clients[-1]


@define
class Worker:
    """A worker's device."""

    client: httpx.Client
    credential: str
    campaign: str
    config: dict
    config_hash: str

    @property
    def id(self) -> str:
        return participant_id(self.credential).hex()

    def tasks(self) -> list[dict]:
        return self.client.get("/me/tasks").raise_for_status().json()["tasks"]

    def report(self, task: str, value: int, bit: int | None = None) -> dict:
        item = {"report_id": secrets.token_hex(16), "task_id": task, "value": value}
        return item if bit is None else {**item, "bit": bit}

    def place(self) -> httpx.Response:
        return self.client.put("/me/place")

    def send(self, *reports: dict, sketch: dict | None = None, **changed) -> httpx.Response:
        """Take the place, as devices do before they randomise, and send."""
        self.place()
        return self.post(*reports, sketch=sketch, **changed)

    def post(self, *reports: dict, sketch: dict | None = None, **changed) -> httpx.Response:
        body = {"config_hash": self.config_hash, "reports": list(reports), **changed}
        if sketch is not None:
            body["sketch"] = sketch
        return self.client.post("/me/reports", json=body)

    def send_all(self, mechanism, answers: dict) -> qc.Reports:
        """Randomise answers to all tasks as a device does, and send them; return the reports."""
        tasks = {task["task"]: task["task_id"] for task in self.tasks()}
        frame = pd.DataFrame(
            {"task": list(answers), "worker": "me", "label": list(answers.values())}
        )
        every = {"tasks": sorted(tasks), "workers": ["me"]} if mechanism.every_task else {}
        reports = mechanism.randomize(qc.Answers.from_frame(frame, mechanism.domain, **every))
        if reports.sketches is not None:
            numbers = reports.sketches[0].tolist()
            sent = self.send(sketch={"report_id": secrets.token_hex(16), "numbers": numbers})
        else:
            table, bits = reports.table, reports.participation_codes
            names = table.tasks.take(pa.array(table.task_codes)).to_pylist()
            sent = self.send(
                *(
                    self.report(
                        tasks[name],
                        int(table.values[place]),
                        None if bits is None else int(bits[place]),
                    )
                    for place, name in enumerate(names)
                )
            )
        assert sent.raise_for_status().json()["rejected"] == []
        return reports

    def send_values(self, *values: int) -> list[dict]:
        tasks = self.tasks()[: len(values)]
        reports = [
            self.report(task["task_id"], value) for task, value in zip(tasks, values, strict=True)
        ]
        receipt = self.send(*reports).raise_for_status().json()
        assert receipt["accepted"] == len(reports)
        return reports


@define
class Desk:
    """A requester."""

    server: Running
    key: str
    client: httpx.Client

    def draft(self, mechanism=None, **members) -> dict:
        chosen = mechanism or qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
        if why_not_in_page(chosen) is not None:
            return self._older_draft(chosen, members)
        body = {"title": "Birds", "mechanism": chosen.to_dict(), **PROMISES, **members}
        if "domain" in members:
            del body["mechanism"]
        return self.client.post("/campaigns", json=body).raise_for_status().json()

    def _older_draft(self, mechanism, members: dict) -> dict:
        """Return a draft of an older version, which let in what no page can randomise with."""
        made = self.draft(evolve(mechanism, variant="fill"), **members)
        text = canonical_json(mechanism.to_dict()).decode()
        mine = tables.campaign.c.id == bytes.fromhex(made["id"])
        with self.server.database.write() as connection:
            connection.execute(update(tables.campaign).where(mine).values(mechanism=text))
        return self.client.get(f"/campaigns/{made['id']}").raise_for_status().json()

    def import_csv(self, campaign: str, text: str) -> httpx.Response:
        return self.client.post(
            f"/campaigns/{campaign}/tasks",
            content=text.encode(),
            headers={"Content-Type": "text/csv"},
        )

    def put_image(self, campaign: str, content: bytes) -> httpx.Response:
        url = f"/campaigns/{campaign}/images/{hash_of(content)}"
        return self.client.put(url, content=content)

    def campaign(
        self,
        mechanism=None,
        tasks: int = 3,
        about: str = "it",
        image: bytes | None = None,
        options: tuple[list[str], ...] = (),
        **members,
    ) -> str:
        """Return the id of an open campaign; one more task shows the image, if there is one.

        Where `options` are given, each task lists the next of them.
        """
        draft = self.draft(mechanism, **members)
        if image is not None:
            data = {"picture": name_image(image), **({"options": options[0]} if options else {})}
            self.put_image(draft["id"], image).raise_for_status()
            self.client.post(
                f"/campaigns/{draft['id']}/tasks", json=[{"task": "seen", "data": data}]
            ).raise_for_status()
        lines = ["task,question", *(f"t{place},Is {about} {place}?" for place in range(tasks))]
        if options:
            lists = ("|".join(one) for one in cycle(options))
            lines = [
                f"{line},{one}" for line, one in zip(lines, chain(["options"], lists), strict=False)
            ]
        self.import_csv(draft["id"], "\n".join(lines)).raise_for_status()
        self.client.post(f"/campaigns/{draft['id']}/open").raise_for_status()
        return draft["id"]

    def invite(self, campaign: str, count: int = 1) -> list[str]:
        order = {"count": count, "local": True}
        response = self.client.post(f"/campaigns/{campaign}/invites", json=order)
        return response.raise_for_status().json()["invites"]

    def link(self, campaign: str) -> str:
        """Return a link that lets one worker in."""
        return f"{self.server.url}/j/{campaign}#i={self.invite(campaign)[0]}"

    def code(self, campaign: str) -> str:
        """Return a code for the dashboard."""
        made = self.client.post(f"/campaigns/{campaign}/dashboard-codes")
        return made.raise_for_status().json()["code"]

    def token(self, campaign: str) -> str:
        """Return a token that reads the results of a campaign."""
        exchange = self.server.client(self.code(campaign))
        made = exchange.post(f"/campaigns/{campaign}/dashboard-tokens")
        return made.raise_for_status().json()["token"]

    def dashboard(self, campaign: str) -> str:
        """Return a link to the dashboard, which works once."""
        return f"{self.server.url}/dashboard/{campaign}#c={self.code(campaign)}"

    def guest(self, campaign: str) -> Worker:
        """Return a worker who has not joined."""
        credential = new_token("qcw_")
        client = self.server.client(credential)
        public = client.get(f"/public/campaigns/{campaign}").raise_for_status().json()
        return Worker(client, credential, campaign, public["config"], public["config_hash"])

    def join(self, worker: Worker, invite: str | None = None, **members) -> httpx.Response:
        return worker.client.put(
            f"/public/campaigns/{worker.campaign}/participants/{worker.id}",
            json={"config_hash": worker.config_hash, "invite": invite, **members},
        )

    def worker(self, campaign: str) -> Worker:
        """Return a worker who has joined and taken the place."""
        worker = self.guest(campaign)
        open_to_all = (
            self.client.get(f"/campaigns/{campaign}").raise_for_status().json()["join_mode"]
            == "open"
        )
        invite = None if open_to_all else self.invite(campaign)[0]
        self.join(worker, invite).raise_for_status()
        worker.place().raise_for_status()
        return worker


@cache
def api_document() -> dict:
    """Return the OpenAPI document."""
    settings = Settings()
    return create_app(
        settings, Database.open(settings.database), Departures(journal=None)
    ).openapi()


def documented_paths() -> dict[str, dict]:
    """Return the paths of the OpenAPI document."""
    return api_document()["paths"]


def new_desk(server: Running) -> Desk:
    """Return a new requester of a server."""
    key = issue_key(server.database, f"requester {secrets.token_hex(8)}")
    return Desk(server, key, server.client(key))


def check_problem(response: httpx.Response, status: int, name: str) -> dict:
    """Check that a response is a problem of a name, and return it."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["type"] == f"urn:quietcrowd:problem:{name}"
    assert document["status"] == status
    return document
