"""Campaigns that are uploaded to without a pause, and what of it is stored."""

import secrets
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import httpx
from attrs import Factory, define
from sqlalchemy import select
from tests.campaign.people import PLAIN, YES_NO
from tests.campaign.promises import PROMISES
from tests.campaign.waiting import LONG, in_time

import quietcrowd as qc
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.tokens import new_token, participant_id

PER_UPLOAD, PAUSE = 10, 0.02


@define
class Campaign:
    """An open campaign, as uploaders need to know it: `also` is where other servers have it."""

    base_url: str
    key: str
    id: str
    config_hash: str
    also: tuple[str, ...] = ()


def open_campaign(base_url: str, key: str, tasks: int) -> Campaign:
    """Return a campaign of yes-or-no questions that all may join."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=base_url, headers=headers, timeout=LONG, verify=PLAIN) as client:
        mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).to_dict()
        body = {"title": "T", "mechanism": mechanism, "join_mode": "open", **PROMISES}
        body["max_participants"] = 10**7
        one = client.post("/campaigns", json=body).raise_for_status().json()["id"]
        client.post(
            f"/campaigns/{one}/tasks",
            content=b"a\n" + b"1\n" * tasks,
            headers={"Content-Type": "text/csv"},
        ).raise_for_status()
        opened = client.post(f"/campaigns/{one}/open").raise_for_status().json()
    return Campaign(base_url, key, one, opened["config_hash"])


@define
class Uploader:
    """A worker's device that sends what it has until it is acknowledged."""

    campaign: Campaign
    stop: threading.Event
    gone: threading.Event
    credential: str = Factory(lambda: new_token("qcw_"))
    acknowledged: list[str] = Factory(list)
    statuses: Counter = Factory(Counter)
    client: httpx.Client = Factory(
        lambda self: httpx.Client(
            base_url=self.campaign.base_url,
            headers={"Authorization": f"Bearer {self.credential}"},
            timeout=LONG,
            verify=PLAIN,
        ),
        takes_self=True,
    )

    def join(self) -> None:
        url = f"/public/campaigns/{self.campaign.id}/participants/"
        url += participant_id(self.credential).hex()
        joined = self.client.put(url, json={"config_hash": self.campaign.config_hash})
        joined.raise_for_status()
        self.client.put("/me/place").raise_for_status()

    def tasks(self) -> list[str]:
        listed = self.client.get("/me/tasks").raise_for_status().json()["tasks"]
        return [task["task_id"] for task in listed]

    def run(self, tasks: list[str]) -> None:
        for start in range(0, len(tasks), PER_UPLOAD):
            if self.stop.is_set():
                break
            reports = [
                {"report_id": secrets.token_hex(16), "task_id": task, "value": start % 2}
                for task in tasks[start : start + PER_UPLOAD]
            ]
            while not self.send(reports):
                if self.gone.wait(PAUSE):
                    return
                self.turn_to_the_next_server()
            self.acknowledged += [report["report_id"] for report in reports]

    def turn_to_the_next_server(self) -> None:
        servers = [self.campaign.base_url, *self.campaign.also]
        here = servers.index(str(self.client.base_url).rstrip("/"))
        self.client.base_url = servers[(here + 1) % len(servers)]

    def send(self, reports: list[dict]) -> bool:
        body = {"config_hash": self.campaign.config_hash, "reports": reports}
        try:
            answer = self.client.post("/me/reports", json=body)
        except httpx.TransportError:
            self.statuses["broken"] += 1
            return False
        self.statuses[answer.status_code] += 1
        if answer.status_code in (429, 503):
            return False
        receipt = answer.raise_for_status().json()
        assert receipt["rejected"] == []
        assert receipt["accepted"] + receipt["duplicates"] == len(reports)
        return True


@define
class Crowd:
    """Uploaders that all send at once, each in a thread."""

    uploaders: list[Uploader]
    stop: threading.Event
    gone: threading.Event
    threads: list[threading.Thread] = Factory(list)

    def start(self) -> None:
        for uploader in self.uploaders:
            uploader.join()
        tasks = self.uploaders[0].tasks()
        for uploader in self.uploaders:
            self.threads.append(threading.Thread(target=uploader.run, args=(tasks,), daemon=True))
            self.threads[-1].start()

    @property
    def acknowledged(self) -> list[str]:
        return [one for uploader in self.uploaders for one in list(uploader.acknowledged)]

    @property
    def statuses(self) -> Counter:
        return sum((uploader.statuses for uploader in self.uploaders), Counter())

    def wait_for_each(self) -> None:
        """Wait until every uploader had one more upload acknowledged."""
        before = [len(uploader.acknowledged) for uploader in self.uploaders]
        for uploader, count in zip(self.uploaders, before, strict=True):
            more = partial(lambda one, known: len(one.acknowledged) > known, uploader, count)
            assert in_time(more), "an upload is not acknowledged in time"

    def wait_for_more(self, uploads: int) -> None:
        """Wait until so many more uploads are acknowledged."""
        wanted = len(self.acknowledged) + PER_UPLOAD * uploads
        assert in_time(lambda: len(self.acknowledged) >= wanted), self.statuses

    def end(self, *, gone: bool = False) -> None:
        """Begin no more uploads; end those that have begun, unless the server is gone."""
        self.stop.set()
        if gone:
            self.gone.set()
        for thread in self.threads:
            thread.join()
        for uploader in self.uploaders:
            uploader.client.close()


@contextmanager
def uploading(campaign: Campaign, size: int) -> Iterator[Crowd]:
    """Give so many uploaders that are at work; none is left over."""
    stop, gone = threading.Event(), threading.Event()
    crowd = Crowd([Uploader(campaign, stop, gone) for _ in range(size)], stop, gone)
    try:
        crowd.start()
        yield crowd
    finally:
        crowd.end(gone=True)


def stored(url: str, campaign: Campaign) -> list[str]:
    """Return the ids of all reports of a campaign; a file of SQLite must be whole."""
    database = Database.open(url)
    if database.path is not None:
        connection = sqlite3.connect(database.path, timeout=LONG)  # a server may just be closing it
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    with database.read() as connection:
        report = tables.report.c
        wanted = select(report.report_id).where(report.campaign_id == bytes.fromhex(campaign.id))
        found = connection.scalars(wanted).all()
    database.close()
    return [one.hex() for one in found]
