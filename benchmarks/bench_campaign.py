"""The campaign service under load: so many uploads per second, four times as many, and then again.

Server, generator and, where there is one, PostgreSQL share the machine. A worker who has finished
is one upload of ten reports; each upload is another worker's.
"""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
import pytest
from attrs import define
from sqlalchemy import insert
from tests.campaign.postgresql import HOW_TO_GET_IT, find_programs, postgresql
from tests.campaign.server_process import new_key, server_process
from tests.campaign.uploading import open_campaign, stored

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.tokens import new_pseudonym, new_token, participant_id, token_hash

HERE = Path(__file__).parent
PHASES = ((300, 5), (300, 60), (1_200, 20), (300, 10))
"""Uploads a second, and seconds: to warm up, as it may be, too much, and as it may be again."""

USUAL, OVERLOAD, AFTER = 1, 2, 3
P95, P99, RECOVERY = 0.150, 0.400, 5.0
LONGEST = 5.0
WINDOW = 0.5
TASKS = 1_000
METRICS = ("--metrics-port", "0")
"""Servers count what they do, and publish it once a minute."""

REFUSED = (429, 503)
NAMES = ("servers", "database", "generator")
TITLE = "Campaigns: uploads of 10 reports, at a fixed rate"


@define
class Outcome:
    """What became of the uploads of a run."""

    found: dict

    def of(self, phase):
        """Return moments, latencies and statuses of the uploads of a phase."""
        chosen = self.found["phase"] == phase
        return (self.found[name][chosen] for name in ("due", "latency", "status"))

    def shares(self, phase, seconds):
        """Return which share of a core each process took in a phase."""
        before, after = json.loads(str(self.found["processor"]))[phase : phase + 2]
        return {name: (after[name] - before[name]) / seconds for name in after}

    def recovery(self):
        """Return the seconds after the overload from which on all is as it should be."""
        due, latency, status = self.of(AFTER)
        end = due[-1] - due[0]
        for since in np.arange(0, end, WINDOW):
            later = due >= due[0] + since
            if (status[later] == 200).all() and np.quantile(latency[later], 0.95) <= P95:
                return since + WINDOW
        return end


def let_join(url, campaign, count):
    """Put participants into the database; return their credentials."""
    credentials = [new_token("qcw_") for _ in range(count)]
    rows = [
        {
            "id": participant_id(one),
            "campaign_id": bytes.fromhex(campaign.id),
            "token_sha256": token_hash(one),
            "pseudonym": new_pseudonym(),
            "consent_hash": bytes.fromhex(campaign.config_hash),
        }
        for one in credentials
    ]
    database = Database.open(url)
    with database.write() as connection:
        connection.execute(insert(tables.participant), rows)
    database.close()
    return credentials


def peak_megabytes(pid):
    """Return the largest memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e3


@pytest.fixture(params=[("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2)])
def load(request, tmp_path):
    """Return what was served, what became of the uploads, and the servers' peak memory together."""
    with ExitStack() as stack:
        kind, count = request.param
        watched, url = {}, f"sqlite:///{tmp_path}/q.db"
        if kind == "PostgreSQL":
            programs = find_programs()
            if programs is None:
                pytest.skip(HOW_TO_GET_IT)
            server = stack.enter_context(postgresql(programs))
            watched["database"], url = [server.process], server.url
        key = new_key(url)
        servers = [
            stack.enter_context(server_process(url, tmp_path / f"log {place}", *METRICS))
            for place in range(count)
        ]
        serving = servers[0]
        campaign = open_campaign(serving.base_url, key, TASKS)
        credentials = let_join(url, campaign, sum(rate * seconds for rate, seconds in PHASES))
        headers = {"Authorization": f"Bearer {credentials[0]}"}
        listed = httpx.get(f"{serving.base_url}/me/tasks", headers=headers).raise_for_status()
        plan = {
            "ports": [one.port for one in servers],
            "config_hash": campaign.config_hash,
            "tasks": [task["task_id"] for task in listed.json()["tasks"]],
            "credentials": credentials,
            "seed": 1,
            "phases": PHASES,
            "watched": {"servers": [one.process.pid for one in servers], **watched},
        }
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        words = [sys.executable, HERE / "upload_load.py", "plan.json", "result.npz"]
        subprocess.run(words, check=True, cwd=tmp_path)
        outcome = Outcome(dict(np.load(tmp_path / "result.npz")))
        memory = sum(peak_megabytes(one.process.pid) for one in servers)
        check_stored(outcome.found, stored(url, campaign))
        yield f"{kind}, two servers" if count == 2 else kind, outcome, memory


def hexadecimal(ids):
    """Return ids as the database gives them."""
    return {one.tobytes().hex() for one in ids.reshape(-1, 16)}


def check_stored(found, kept):
    """Check that what was acknowledged is stored, once, and nothing that was not sent."""
    acknowledged = hexadecimal(found["ids"][found["status"] == 200])
    assert len(kept) == len(set(kept))
    assert acknowledged <= set(kept)
    unanswered = hexadecimal(found["ids"][~np.isin(found["status"], (200, *REFUSED))])
    assert set(kept) - acknowledged <= unanswered


def tabulated(kind, outcome, phase):
    """Return a row of the table: how a phase went."""
    rate, seconds = PHASES[phase]
    _, latency, status = outcome.of(phase)
    shares = outcome.shares(phase, seconds)
    taken = status == 200
    middle, most, nearly_all = np.quantile(latency[taken], (0.5, 0.95, 0.99)) * 1e3
    return {
        "database": kind,
        "uploads/s": f"{rate:,}",
        "stored/s": f"{taken.sum() / seconds:,.0f}",
        "p50, ms": f"{middle:.0f}",
        "p95, ms": f"{most:.0f}",
        "p99, ms": f"{nearly_all:.0f}",
        "rejected, 429 or 503": f"{np.isin(status, REFUSED).sum():,}",
        "other errors": f"{(~np.isin(status, (200, *REFUSED))).sum():,}",
        **{f"cores, {name}": f"{shares.get(name, 0):.2f}" for name in NAMES},
    }


def test_uploads(load, compare, tabulate, remark):
    """Time them, on SQLite, on PostgreSQL, and on a PostgreSQL with two servers."""
    kind, outcome, memory = load
    for phase in (USUAL, OVERLOAD, AFTER):
        tabulate(TITLE, tabulated(kind, outcome, phase))
    _, latency, status = outcome.of(USUAL)
    most, nearly_all = np.quantile(latency[status == 200], (0.95, 0.99))
    what = f"{PHASES[USUAL][0]} uploads per second, {kind}"
    compare(f"{what}: p95", most, "the limit of 150 ms", P95, 1)
    compare(f"{what}: p99", nearly_all, "the limit of 400 ms", P99, 1)
    refused = (status != 200).sum()
    remark(f"{what}: {refused:,} of {len(status):,} were rejected (goal: 0).")
    _, latency, _ = outcome.of(OVERLOAD)
    what = f"{PHASES[OVERLOAD][0]} uploads per second, {kind}: the slowest response"
    compare(what, latency.max(), "the limit of 5 s", LONGEST, 1)
    what = (
        f"recovery after {PHASES[OVERLOAD][0]} uploads per second, {kind}: "
        "until p95 is below 150 ms"
    )
    compare(what, outcome.recovery(), "the limit of 5 s", RECOVERY, 1)
    remark(f"Peak memory of all servers under this load, {kind}: {memory:.0f} MB.")
    assert {*outcome.found["status"].tolist()} <= {200, *REFUSED}
