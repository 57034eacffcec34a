"""Fill a campaign with reports of a synthetic crowd, by the code that takes uploads in.

Usage: python fill_campaign.py URL TASKS WORKERS PER_TASK

The campaign is made through the interface; workers join in bulk, and what they send is decided and
written as uploads are, many in one transaction. Rows come in the order of their random ids, so that
neither database jumps about in its indexes. Prints the campaign, its requester's key and seconds as
JSON. A process of its own, as it holds all reports.
"""

import json
import secrets
import sys
import time

import httpx
import numpy as np
from sqlalchemy import select

import quietcrowd as qc
from quietcrowd.campaign.protocol.worker_documents import ReportItem, Upload
from quietcrowd.campaign.server.app import serve_in_background
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, insert_rows
from quietcrowd.campaign.store.intake import Intake, WorkerUpload
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.campaign.terms.tokens import new_pseudonym, new_token, participant_id, token_hash

LABELS = ("a", "b", "c", "d")
AT_ONCE = 20_000
"""Uploads of one transaction."""

MECHANISM = qc.RandomizedResponse(domain=qc.Categorical(LABELS), epsilon=2.0)
DRAFT = {
    "title": "As many as can be",
    "mechanism": MECHANISM.to_dict(),
    "join_mode": "open",
    "requester": "A benchmark",
    "contact": "Nobody",
    "purpose": "To see how much it takes",
}


def open_campaign(url, tasks):
    """Return the id of an open campaign, its hash, the ids of its tasks, and the key."""
    with serve_in_background(Settings(database=url, port=0, infer=False)) as server:
        key = issue_key(server.app.state.service.database, "benchmark")
        head = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=f"{server.url}/api/v1", headers=head, timeout=60) as client:
            one = client.post("/campaigns", json=DRAFT).raise_for_status().json()["id"]
            file = "task,question\n" + "".join(
                f"{task},Which is picture {task}?\n" for task in range(tasks)
            )
            client.post(
                f"/campaigns/{one}/tasks", content=file, headers={"Content-Type": "text/csv"}
            ).raise_for_status()
            opened = client.post(f"/campaigns/{one}/open").raise_for_status().json()
    return one, opened["config_hash"], key


def let_join(database, campaign, config_hash, count):
    """Let so many join; return their credentials, in the order of their ids."""
    credentials = sorted((new_token("qcw_") for _ in range(count)), key=participant_id)
    columns = tables.participant.columns.keys()
    for start in range(0, count, AT_ONCE):
        rows = [
            {
                "id": participant_id(one),
                "campaign_id": campaign,
                "token_sha256": token_hash(one),
                "pseudonym": new_pseudonym(),
                "consent_hash": config_hash,
                "standing": "joined",
                "placed": 1,
            }
            for one in credentials[start : start + AT_ONCE]
        ]
        with database.write() as connection:
            insert_rows(
                connection,
                tables.participant,
                [tuple(map(row.get, columns)) for row in rows],
            )
    return credentials


def reports_of_crowd(tasks, workers, per_task):
    """Return task, worker and value of each report, sorted by worker."""
    crowd = qc.make_crowd(
        tasks=tasks, workers=workers, answers_per_task=per_task, labels=LABELS, random_state=1
    )
    table = MECHANISM.simulate(crowd.answers, random_state=2).table
    order = np.argsort(table.worker_codes, kind="stable")
    return table.task_codes[order], table.worker_codes[order], table.values[order]


def send(database, config_hash, task_ids, credentials, reports):
    """Send all, some workers at a time."""
    tasks, workers, values = reports
    ends = np.searchsorted(workers, np.arange(len(credentials) + 1))
    ids = np.sort(np.frombuffer(secrets.token_bytes(16 * len(tasks)), "S16"))
    intake = Intake()
    for start in range(0, len(credentials), AT_ONCE):
        stop = min(start + AT_ONCE, len(credentials))
        uploads = []
        for worker in range(start, stop):
            own = range(ends[worker], ends[worker + 1])
            items = [
                ReportItem.model_construct(
                    report_id=ids[place].ljust(16, b"\0").hex(),
                    task_id=task_ids[tasks[place]],
                    value=int(values[place]),
                    bit=None,
                )
                for place in own
            ]
            upload = Upload.model_construct(config_hash=config_hash, reports=items, sketch=None)
            uploads.append(WorkerUpload(credential=credentials[worker], upload=upload))
        with database.write() as connection:
            outcomes = intake.take(connection, uploads).outcomes
        assert not any(receipt.rejected for receipt in outcomes)
        print(f"{ends[stop]:,} reports", file=sys.stderr, flush=True)


def main():
    """Fill one campaign."""
    url, tasks, workers, per_task = sys.argv[1], *map(int, sys.argv[2:])
    begun = time.monotonic()
    campaign, config_hash, key = open_campaign(url, tasks)
    database = Database.open(url)
    with database.read() as connection:
        task = tables.task.c
        mine = task.campaign_id == bytes.fromhex(campaign)
        held = {
            row.name: row.id.hex()
            for row in connection.execute(select(task.name, task.id).where(mine))
        }
    task_ids = [held[str(place)] for place in range(tasks)]
    credentials = let_join(database, bytes.fromhex(campaign), bytes.fromhex(config_hash), workers)
    send(database, config_hash, task_ids, credentials, reports_of_crowd(tasks, workers, per_task))
    database.empty_journal()
    database.close()
    seconds = time.monotonic() - begun
    json.dump({"campaign": campaign, "key": key, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
