"""A server's database and the folders of devices, written by one version and used by another."""

import json
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from tests.campaign.waiting import in_time
from tests.compatibility.crowds import LEVELS, METHODS, RANGE, THREE
from tests.compatibility.files import QUESTIONS, read_json, write_json
from tests.compatibility.memos import private_copy
from tests.compatibility.serving import ORIGIN, Wire, command, requester, served
from tests.compatibility.spelling import plain

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.exceptions import UnansweredError
from quietcrowd.mechanisms import MatrixFactorization, Mechanism, TwoLayerRandomizedResponse

CAMPAIGNS: dict[str, dict[str, Any]] = {
    "coins": {"mechanism": qc.RandomizedResponse(domain=THREE, epsilon=2.0), "linked": 4},
    "two-layer": {
        "mechanism": TwoLayerRandomizedResponse.from_claimed_epsilon(domain=THREE, epsilon=2.0),
        "method": METHODS["dawid-skene"].to_dict(),
    },
    "numbers": {
        "mechanism": qc.LaplaceMechanism(domain=RANGE, epsilon=4.0, participation="released")
    },
    "sketches": {"mechanism": MatrixFactorization(domain=LEVELS, epsilon=4.0, rank=3)},
}
"""Open campaigns; there are a closed one and a draft besides."""

REMOVED = "variance"
"""A campaign of the stored database whose mechanism was removed since."""

PROMISES = {
    "requester": "The bird group",
    "contact": "birds@example.org",
    "purpose": "A map of birds: é",
    "retention_days": 3_000,
    "at_least": 1,
}

WORKERS = 4
BUDGET = {"budget": 500.0, "delta": 0.25}
DEVICES = ("answered", "committed", "joined")
"""One that has answered all campaigns; one whose reports were lost; one that has joined alone."""

USUAL = METHODS["weighted-vote"].to_dict()
"""What a campaign that asks for labels, and names no method, was inferred by."""

JOINED = ("coins", "numbers")


def _tasks_of(mechanism: Mechanism) -> str:
    """Return the tasks of a campaign as a file, the truth of the first among them."""
    truths = {THREE: "perhaps", RANGE: "2.5", LEVELS: "3"}
    golds = [truths[mechanism.domain], *[""] * (len(QUESTIONS) - 1)]
    rows = [f"t{at},{text},{golds[at]}" for at, text in enumerate(QUESTIONS)]
    return "\n".join(["task,question,gold", *rows]) + "\n"


def _answers(mechanism: Mechanism, worker: int, count: int = 4) -> dict[str, Any]:
    some = [1.5, 9.0, 0.25, 4.0] if mechanism.domain == RANGE else list(mechanism.domain.labels)
    return {f"t{at}": some[(at + worker // 2) % len(some)] for at in range(count)}


def client_of(folder: Path, campaign: str, wire: Wire) -> Client:
    """Return a device's client of a campaign."""
    link = f"{ORIGIN}/j/{campaign}"
    patience = 0.0 if wire.losing else 60.0
    return Client(link, folder=folder, **BUDGET, patience=patience, transport=wire)


def write_campaigns(folder: Path) -> None:
    """Play campaigns on a server, and keep its database, devices, and what they say."""
    folder.mkdir()
    with TemporaryDirectory() as place:
        database = Path(place) / "server.db"
        url = f"sqlite:///{database}"
        key = command("admin", "create-key", "birds", "--database", url).strip()
        with served(database, "--no-infer") as address, requester(address, key) as desk:
            ids = _open_campaigns(desk)
            _answer(address, ids, Path(place), folder / "devices")
        with served(database) as address, requester(address, key) as desk:
            for name in CAMPAIGNS:
                _wait_for_results(desk, ids[name])
            desk.post(f"/campaigns/{ids['closed']}/close").raise_for_status()
            command("admin", "backup", folder / "server.db", "--database", url)
    write_json(folder / "access.json", {"key": key, "campaigns": ids})
    for name, found in use(folder, forget=()).items():
        write_json(folder / f"{name}.json.gz", found)


def _open_campaigns(desk: httpx.Client) -> dict[str, str]:
    coins = CAMPAIGNS["coins"]
    ids = {}
    for name, members in {**CAMPAIGNS, "closed": coins, "draft": coins}.items():
        draft = {
            **members,
            "title": f"Birds: {name}",
            "description": "é",
            "mechanism": members["mechanism"].to_dict(),
            "join_mode": "open",
            **PROMISES,
        }
        made = desk.post("/campaigns", json=draft).raise_for_status().json()["id"]
        tasks = _tasks_of(members["mechanism"]).encode()
        kind = {"Content-Type": "text/csv"}
        desk.post(f"/campaigns/{made}/tasks", content=tasks, headers=kind).raise_for_status()
        if name != "draft":
            desk.post(f"/campaigns/{made}/open").raise_for_status()
        ids[name] = made
    return ids


def _answer(address: str, ids: dict[str, str], place: Path, devices: Path) -> None:
    """Let devices answer, and keep the folders of three."""
    for worker in range(WORKERS):
        device = devices / "answered" if worker == 0 else place / f"device{worker}"
        for name in [*CAMPAIGNS, "closed"]:
            client = client_of(device, ids[name], Wire(address))
            mechanism = CAMPAIGNS.get(name, CAMPAIGNS["coins"])["mechanism"]
            client.answer(_answers(mechanism, worker))
    for name in CAMPAIGNS:
        client = client_of(devices / "committed", ids[name], Wire(address, losing=True))
        try:
            client.answer(_answers(CAMPAIGNS[name]["mechanism"], 1))
        except UnansweredError:
            continue
        raise AssertionError("reports were to be lost")
    for name in JOINED:
        client_of(devices / "joined", ids[name], Wire(address)).join()
    for lock in devices.rglob("*lock"):
        lock.unlink()


def _wait_for_results(desk: httpx.Client, campaign: str) -> Any:
    """Return the results of a campaign, as soon as they are of all its reports."""
    found = []

    def is_there() -> bool:
        held = _get(desk, f"/campaigns/{campaign}").raise_for_status().json()["reports"]
        answer = _get(desk, f"/campaigns/{campaign}/results")
        if answer.is_success and answer.json()["reports"] == held:
            found.append(answer.json())
        return bool(found)

    assert in_time(is_there, every=0.25), "no results came"
    return found[0]


def _get(desk: httpx.Client, path: str) -> httpx.Response:
    """Return what a server answers, once it takes the request."""
    answers = []

    def is_answered() -> bool:
        answers.append(desk.get(path))
        return answers[-1].status_code != 429

    assert in_time(is_answered, every=0.25), "the server takes no request"
    return answers[-1]


def use(folder: Path, *, forget: Iterable[str] = CAMPAIGNS) -> dict[str, Any]:
    """Return what a server says of a copy of the database, and copies of the devices with it.

    ``observed`` holds documents and files by campaign; ``results`` those of inferences, which are
    made anew where `forget` names a campaign; ``continued`` what the devices find and send.
    """
    access = read_json(folder / "access.json")
    ids = access["campaigns"]
    with TemporaryDirectory() as place:
        database = Path(shutil.copy(folder / "server.db", place))
        command("admin", "migrate", "--no-backup", "--database", f"sqlite:///{database}")
        _forget_results(database, [ids[name] for name in forget])
        devices = private_copy(folder / "devices", Path(place) / "devices")
        with served(database) as address, requester(address, access["key"]) as desk:
            listed = [*CAMPAIGNS, *ids.keys() & {REMOVED}]
            results = {name: _wait_for_results(desk, ids[name]) for name in listed}
            observed: dict[str, Any] = {}
            for name, campaign in ids.items():
                observed |= _observed(desk, name, f"/campaigns/{campaign}")
            continued = _continued(devices, ids, address)
    return {"observed": observed, "results": results, "continued": continued}


def _forget_results(database: Path, campaigns: list[str]) -> None:
    """Delete results from a database: a server finds them again, by the methods that found them.

    The usual method, of a campaign without one of its own, was another one.
    """
    with sqlite3.connect(database) as connection:
        for campaign in campaigns:
            connection.execute(
                "UPDATE campaign SET method = ? WHERE id = ? AND method IS NULL",
                [json.dumps(USUAL), bytes.fromhex(campaign)],
            )
            gone = connection.execute(
                "DELETE FROM inference WHERE campaign_id = ?", [bytes.fromhex(campaign)]
            )
            assert gone.rowcount == 1
    connection.close()


def _observed(desk: httpx.Client, name: str, path: str) -> dict[str, Any]:
    asked = {
        "document": path,
        "tasks": f"{path}/tasks",
        "public": f"/public{path}",
        **{f"reports.{kind}": f"{path}/reports?format={kind}" for kind in ("jsonl", "csv")},
        "reports.mechanism": f"{path}/reports?format=mechanism",
        **{
            f"truths.{kind}": f"{path}/truths?format={kind}"
            for kind in ("jsonl", "csv", "label-studio")
        },
    }
    found = {}
    for what, where in asked.items():
        answer = _get(desk, where)
        found[f"{name}/{what}"] = {"status": answer.status_code, "text": answer.text}
    return found


def _continued(devices: Path, ids: dict[str, str], address: str) -> dict[str, Any]:
    found = {
        "answered": _look_again(devices / "answered", ids, address),
        "committed": _send_again(devices / "committed", ids, address),
        "joined": _answer_at_last(devices / "joined", ids, address),
        "withdrawn": _withdraw(devices / "answered", ids, address),
    }
    ledgers = {name: json.loads((devices / name / "ledger.json").read_text()) for name in DEVICES}
    return {**found, "ledgers": ledgers}


def _told(client: Client) -> dict[str, Any]:
    stored = client.stored()
    assert stored.as_sent
    return {
        "receipt": plain(client.resume()),
        "sent": plain(client.sent_reports()),
        "held": plain(stored),
        "spent": plain(client.spent()),
        "used": client.used_after(0),
        "terms": client.terms.config_hash,
        "consent": list(client.consent),
        "guarantee": plain(client.guarantee),
        "tasks": plain(client.tasks),
        "law": list(client.noise_text[1:]),  # without the first, in brief, which is new
        "copies": plain(client.copies),
        "alike": plain(client.alike),
    }


def _look_again(device: Path, ids: dict[str, str], address: str) -> dict[str, Any]:
    found = {}
    for name in [*CAMPAIGNS, "closed"]:
        wire = Wire(address)
        client = client_of(device, ids[name], wire)
        assert client.joined
        assert client.committed
        assert client.sent
        found[name] = _told(client)
        assert not wire.posted
    return found


def _send_again(device: Path, ids: dict[str, str], address: str) -> dict[str, Any]:
    found = {}
    for name in CAMPAIGNS:
        wire = Wire(address)
        client = client_of(device, ids[name], wire)
        assert client.committed
        assert not client.sent
        client.resume()
        [posted] = wire.posted
        found[name] = {"posted": posted.decode(), **_told(client)}
    return found


def _answer_at_last(device: Path, ids: dict[str, str], address: str) -> dict[str, Any]:
    found = {}
    for name in JOINED:
        client = client_of(device, ids[name], Wire(address))
        assert client.joined
        assert not client.committed
        before = {
            "reused": list(client.reused),
            "repeated": list(client.repeated),
            "affordable": client.affordable(),
            "after": plain(client.spent_after(3)),
        }
        client.answer(_answers(CAMPAIGNS[name]["mechanism"], 2))
        told = _told(client)
        del told["held"]  # in the order of random ids
        found[name] = {"before": before, **told}
    return found


def _withdraw(device: Path, ids: dict[str, str], address: str) -> dict[str, Any]:
    client = client_of(device, ids["coins"], Wire(address))
    client.withdraw()
    return {"joined": client.joined, "spent": plain(client.spent())}
