"""The device of a worker, against the real server."""

import json
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from scipy.stats import binomtest
from tests.campaign.devices import NOWHERE, Between, Fake, altered
from tests.campaign.mechanisms import MECHANISMS, RANGE, mechanisms_by_day
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.accounting.ledger import PrivacyLedger
from quietcrowd.campaign import Client
from quietcrowd.campaign.device.draw import CommittedReports
from quietcrowd.campaign.results.reports import ReportsToInfer, read_stored
from quietcrowd.exceptions import (
    AnswerError,
    CampaignError,
    MissingExtraError,
    ParameterError,
    UnansweredError,
)

YES_NO = MECHANISMS["one-layer"]
WITH_A_MEMO = [name for name, one in MECHANISMS.items() if one.no_memo is None]
ANSWERS = {"t0": "yes", "t1": "no", "t2": "yes"}
NUMBER = 7.65432109876543
"""Its last digits stand in no id by chance: six of them do, once in ten thousand runs."""


def answers_for(mechanism, tasks=3):
    domain = mechanism.domain
    value = NUMBER if domain == RANGE else domain.labels[-1]
    return {f"t{place}": value for place in range(tasks)}


def upload_of(client):
    """Return what a device has committed to be sent."""
    return CommittedReports(content=client._folder.upload())


@pytest.fixture(autouse=True)
def naps(monkeypatch):
    """Return how long the device paused, instead of pausing."""
    slept = []
    monkeypatch.setattr("quietcrowd.campaign.device.http_client.sleep", slept.append)
    return slept


@pytest.fixture
def device(desk, tmp_path):
    """Return a way to make clients of one device."""

    def make(link=None, **members):
        link = link or desk.link(desk.campaign())
        return Client(link, **{"folder": tmp_path / "device", "patience": 1e6, **members})

    return make


@pytest.mark.parametrize(
    "name", mechanisms_by_day("one-layer with NULL", "sets of labels", "laplace with a bit")
)
def test_a_worker_answers_with_every_mechanism(desk, device, name):
    mechanism = MECHANISMS[name]
    campaign = desk.campaign(mechanism, tasks=4)
    client = device(desk.link(campaign))
    public = desk.guest(campaign).config
    assert list(client.consent) == public["consent"]
    assert client.guarantee.epsilon == public["guarantee"]["answer_epsilon"]
    given = answers_for(mechanism, tasks=2)
    receipt = client.answer(given)
    upload = upload_of(client)
    assert receipt.accepted == (1 if upload.sketch else 4 if mechanism.every_task else 2)
    held = client.stored()
    assert held.as_sent
    assert held.reports == client.sent_reports()
    assert {report.task for report in held.reports} in (set(), set(given), {"t0", "t1", "t2", "t3"})
    with desk.server.database.read() as connection:
        from quietcrowd.campaign.store import tables

        row = connection.execute(
            tables.campaign.select().where(tables.campaign.c.id == bytes.fromhex(campaign))
        ).one()
        stored = read_stored(connection, ReportsToInfer.of(connection, row)).rows.reports
    assert stored.mechanism == mechanism
    if upload.sketch:
        assert stored.sketches[0].tolist() == upload.sketch["numbers"]


def test_joining_again_has_no_effect(desk, device):
    link = desk.link(desk.campaign())
    client = device(link)
    assert not client.joined
    for _ in range(2):
        client.join()
    device(link.partition("#")[0]).join()
    assert client.joined
    assert len(client.tasks) == 3


def test_nothing_is_known_before_joining(device):
    client = device()
    with pytest.raises(CampaignError, match="join it first"):
        _ = client.tasks
    with pytest.raises(AnswerError, match="no reports were sent"):
        client.sent_reports()
    with pytest.raises(CampaignError, match="join it first"):
        client.resume()


LIES = {
    "a hash": (lambda document: document["config"].update(title="Bees"), "hash"),
    "a smaller loss": (
        lambda document: document["config"]["guarantee"].update(total_epsilon=0.1),
        r"guarantee; its privacy loss is up to epsilon = 3\.",
    ),
    "softer words": (lambda document: document["config"].update(consent=["Safe."]), "consent"),
    "another table": (
        lambda document: document["config"]["channel"].update(weights=[[2**31] * 2] * 2),
        "contradicts its channel",
    ),
    "other reports": (
        lambda document: document["config"]["report"].update(value=[0, 9]),
        "contradicts its report",
    ),
    "weights that are not the mechanism's": (
        lambda document: document["config"]["mechanism"].update(other_weight=1),
        "mechanism cannot be used",
    ),
    "no mechanism": (lambda document: document["config"].pop("mechanism"), "invalid: mechanism"),
    "another member": (
        lambda document: document["config"].update(trust="me"),
        "contradicts its trust",
    ),
    "more answers than tasks": (
        lambda document: document["config"].update(answers_per_participant=4),
        "not more than tasks",
    ),
    "another campaign": (
        lambda document: document["config"].update(campaign=32 * "1"),
        "a campaign other than",
    ),
    "a number for a text": (
        lambda document: document["config"].update(tasks=True),
        "invalid: tasks",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_server_that_lies_is_not_believed(desk, device, tmp_path, name):
    change, told = LIES[name]
    link = desk.link(desk.campaign())
    wire = Between(altered(link[-90:].partition("#")[0][-32:], change))
    if name == "a hash":
        wire.change = lambda request, response: _tampered(request, response, change)
    with pytest.raises(CampaignError, match=told):
        device(link, transport=wire).answer(ANSWERS)
    assert {request.method for request in wire.requests} == {"GET"}
    assert not list((tmp_path / "device").rglob("credential"))


def _tampered(_, response, change):
    document = response.json()
    change(document)
    return httpx.Response(200, json=document)


TASKS = {
    "another question": lambda document: document["tasks"][0]["data"].update(question="Else?"),
    "a task less": lambda document: document["tasks"].pop(),
    "another order": lambda document: document["tasks"].reverse(),
    "another configuration": lambda document: document.update(config_hash=64 * "0"),
    "no list": lambda document: document.update(tasks="none"),
    "a member more": lambda document: document["tasks"][0].update(gold=1),
}


@pytest.mark.parametrize("name", TASKS)
def test_tasks_that_nobody_agreed_to_are_refused(device, name):
    wire = Between(altered("/me/tasks", TASKS[name]))
    with pytest.raises(CampaignError, match=r"tasks|configuration"):
        device(transport=wire).answer(ANSWERS)
    assert not wire.bodies()


def test_a_configuration_that_changes_after_consent_is_refused(desk, device):
    link = desk.link(desk.campaign())
    device(link).join()
    end = link.partition("#")[0][-32:]
    wire = Between(altered(end, lambda document: document["config"].update(title="Bees")))
    with pytest.raises(CampaignError, match="changed since you agreed"):
        device(link, transport=wire).answer(ANSWERS)


def failing(times, fail):
    """Return what fails so often after reports were posted, and then lets through."""
    left = [times]

    def change(request, response):
        if request.method == "POST" and left[0]:
            left[0] -= 1
            return fail(request, response)
        return response

    return change


def _broken(request, _):
    raise httpx.ReadError("the connection broke", request=request)


FAILURES = {
    "500": lambda *_: httpx.Response(500),
    "busy": lambda *_: httpx.Response(503, headers={"Retry-After": "7"}),
    "too many": lambda *_: httpx.Response(429, headers={"Retry-After": "nonsense"}),
    "broken": _broken,
}


@pytest.mark.grid
@pytest.mark.parametrize("name", FAILURES)
def test_what_was_committed_and_not_acknowledged_is_sent_again_as_it_was(device, naps, name):
    wire = Between(failing(20, FAILURES[name]))
    receipt = device(transport=wire).answer(ANSWERS)
    assert (receipt.accepted, receipt.duplicates) == (0, 3)
    assert len(wire.bodies()) == 21
    assert len(set(wire.bodies())) == 1
    assert len(naps) == 20
    if name == "busy":
        assert naps[0] == 7
    else:
        assert naps[:8] == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_a_new_process_sends_what_an_earlier_one_committed(desk, device):
    link = desk.link(desk.campaign())
    first = Between(failing(1, _broken))
    client = device(link, transport=first, patience=0)
    with pytest.raises(UnansweredError, match="cannot be reached: the connection broke"):
        client.answer(ANSWERS)
    upload = upload_of(client)
    second = Between()
    later = device(link, transport=second)
    assert later.committed
    assert not later.sent
    receipt = later.resume()
    assert receipt.duplicates == 3
    assert first.bodies() == second.bodies() == [upload.content]
    assert later.sent
    assert later.resume() == receipt
    assert len(second.bodies()) == 1


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", mechanisms_by_day("one-layer with NULL", "hybrid", of=WITH_A_MEMO))
def test_noise_is_fixed_before_the_first_answer(monkeypatch, tmp_path, name):
    mechanism = MECHANISMS[name]
    fake = Fake.of(mechanism, tasks=12)
    given = answers_for(mechanism, 12)
    seen = set()

    def crash(_, content, __):
        seen.add(tuple(_values(content)))
        raise OSError("the disk is full")

    def answer(answers):
        with pytest.raises(OSError, match="the disk is full"):
            Client(NOWHERE, folder=tmp_path, transport=fake).answer(answers)

    monkeypatch.setattr("quietcrowd.campaign.device.folder.CampaignFolder.keep_upload", crash)
    for _ in range(20):
        answer(given)
    assert len(seen) == 1
    labels = getattr(mechanism.domain, "labels", [1])
    answer({**given, "t0": labels[0]})
    answer(given)
    assert len(seen) <= 2
    assert not fake.posted, "what was not kept was not sent"
    assert Client(NOWHERE, folder=tmp_path, transport=fake).spent().total_epsilon == 0


def _values(content):
    reports = json.loads(content)["reports"]
    return [(report["task_id"], report["value"], report.get("bit")) for report in reports]


def test_what_is_committed_cannot_be_changed(desk, device):
    link = desk.link(desk.campaign())
    client = device(link, transport=Between(failing(1, _broken)), patience=0)
    with pytest.raises(UnansweredError):
        client.answer(ANSWERS)
    upload = upload_of(client)
    assert not client._folder.memo.exists(), "what made the reports is gone"
    for again in (client, device(link)):
        with pytest.raises(AnswerError, match="its reports are final"):
            again.answer({**ANSWERS, "t0": "no"})
    assert upload_of(client) == upload


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"t0": "perhaps"}, r"task 't0': the answer is outside the domain 'no', 'yes'"),
        ({"elsewhere": "yes"}, "task 'elsewhere' is not one of the 3 tasks"),
        ({"t0": "yes", "t1": "yes", "t2": "no"}, "at most 2 answers per worker; got 3"),
        ({"t0": None}, "there is no answer"),
        (["yes"], "must map tasks to answers"),
    ],
)
def test_answers_that_cannot_be_are_refused(tmp_path, answers, told):
    fake = Fake.of(YES_NO, answers=2)
    client = Client(NOWHERE, folder=tmp_path, transport=fake)
    client.join()
    with pytest.raises(AnswerError, match=told) as caught:
        client.answer(answers)
    assert "perhaps" not in str(caught.value)
    assert not client.committed


def test_who_hides_participation_may_answer_nothing(tmp_path):
    for name in ("one-layer with NULL", "laplace with a bit", "matrix factorisation"):
        fake = Fake.of(MECHANISMS[name], tasks=5)
        client = Client(NOWHERE, folder=tmp_path / name, transport=fake)
        assert client.answer({}).accepted == (1 if name == "matrix factorisation" else 5)


def test_a_worker_who_would_lose_too_much_sends_nothing(desk, device):
    first, second = (device(desk.link(desk.campaign(about=one)), budget=5) for one in ("it", "she"))
    assert first.spent().total_epsilon == 0
    assert first.spent_after().total_epsilon == pytest.approx(3)
    assert first.spent_after(1).total_epsilon == pytest.approx(1)
    first.answer(ANSWERS)
    second.join()
    assert second.spent_after().total_epsilon == pytest.approx(6)
    with pytest.raises(
        ParameterError,
        match=r"used epsilon = 3 of a budget of 5 at delta = 0, and the reports of this campaign "
        r"\(3\) would increase it to 6\. Nothing was sent\. Increase the budget, give fewer",
    ):
        second.answer(ANSWERS)
    assert not second.committed
    second.answer({"t0": "yes", "t1": "yes"})
    assert second.spent().total_epsilon == pytest.approx(5)


def test_the_budget_is_charged_once_however_often_is_sent(device):
    wire = Between(failing(3, FAILURES["500"]))
    client = device(transport=wire, patience=0)
    client.join()
    assert client.spent().total_epsilon == 0
    for send in (lambda: client.answer(ANSWERS), client.resume, client.resume):
        with pytest.raises(UnansweredError, match="is unavailable"):
            send()
        assert client.spent().total_epsilon == pytest.approx(3)
    client.resume()
    assert client.spent().total_epsilon == pytest.approx(3)


def test_withdrawing_leaves_nothing_but_what_was_spent(desk, device, tmp_path):
    campaign = desk.campaign()
    client = device(desk.link(campaign))
    client.answer(ANSWERS)
    assert desk.client.get(f"/campaigns/{campaign}").json()["participants"] == 1
    client.withdraw()
    after = desk.client.get(f"/campaigns/{campaign}").json()
    assert (after["participants"], after["reports"]) == (0, 0)
    left = {path.name for path in (tmp_path / "device").rglob("*") if path.is_file()}
    assert left == {"ledger.json", "ledger.json.lock", "lock", "questions.json", "withdrawn"}
    assert client.spent().total_epsilon == pytest.approx(3)
    client.withdraw()
    with pytest.raises(CampaignError, match="you have withdrawn"):
        device(desk.link(campaign)).join()


def test_who_leaves_before_locking_may_come_back(desk, device):
    campaign = desk.campaign()
    client = device(desk.link(campaign))
    client.join()
    client.withdraw()
    assert not client.joined
    assert device(desk.link(campaign)).answer(ANSWERS).accepted == 3


def test_withdrawing_without_a_credential_is_refused(device):
    client = device()
    with pytest.raises(CampaignError, match=r"has not joined the campaign\. Nothing was deleted"):
        client.withdraw()
    client.answer(ANSWERS)
    client._folder.credential.unlink()
    with pytest.raises(CampaignError, match=r"credential is missing, .* Restore it from a copy"):
        client.withdraw()
    assert client.committed


def test_withdrawing_is_sent_until_it_is_answered(device):
    left = [2]

    def lose(request, response):
        if request.method == "DELETE" and left[0]:
            left[0] -= 1
            _broken(request, response)
        return response

    client = device(transport=Between(lose))
    client.answer(ANSWERS)
    client.withdraw()
    assert not client.joined


def test_lost_files_are_no_reason_for_fresh_noise(device):
    client = device()
    client.answer(ANSWERS)
    for name in ("upload.json", "receipt.json"):
        (client._folder.path / name).unlink()
    with pytest.raises(CampaignError, match="its files are missing"):
        client.answer(ANSWERS)


def test_two_processes_at_once_are_one_device(desk, tmp_path):
    link = desk.link(desk.campaign())
    together = threading.Barrier(8)
    outcomes = []

    def work():
        client = Client(link, folder=tmp_path / "device")
        together.wait()
        try:
            outcomes.append(client.answer(ANSWERS))
        except (CampaignError, AnswerError) as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(
        "another process" in str(one) or "are final" in str(one) or one.accepted == 3
        for one in outcomes
    ), outcomes
    client = Client(link, folder=tmp_path / "device")
    if not client.committed:
        client.answer(ANSWERS)
    client.resume()
    assert client.stored().as_sent
    assert client.spent().total_epsilon == pytest.approx(3)


def test_a_rejected_report_is_told(desk, device):
    link = desk.link(desk.campaign())
    wire = Between(failing(1, _rejecting))
    client = device(link, transport=wire)
    for _ in range(2):
        with pytest.raises(CampaignError, match=r"accepted 2 .* rejected 1, .* on 't\d' \(con"):
            client.resume() if client.committed else client.answer(ANSWERS)
    assert len(wire.bodies()) == 1


def _rejecting(request, _):
    first = json.loads(request.content)["reports"][0]["report_id"]
    return httpx.Response(
        200,
        json={
            "accepted": 2,
            "duplicates": 0,
            "rejected": [{"report_id": first, "code": "conflict"}],
        },
    )


def test_a_receipt_that_does_not_add_up_is_none(device):
    document = {"accepted": 2, "duplicates": 0, "rejected": []}
    wire = Between(failing(1, lambda *_: httpx.Response(200, json=document)))
    client = device(transport=wire)
    with pytest.raises(CampaignError, match="contradicts the reports"):
        client.answer(ANSWERS)
    assert not client.sent
    assert client.resume().duplicates == 3


def test_what_the_server_holds_is_compared_with_what_was_sent(device):
    def change(document):
        document["reports"][0]["value"] ^= 1
        document["reports"].append({**document["reports"][1], "report_id": 32 * "0"})

    client = device()
    client.answer(ANSWERS)
    client._server = client._server.__class__(
        link=client._read.link,
        patience=0,
        transport=Between(_on_get(altered("/me/reports", change))),
    )
    held = client.stored()
    assert (held.missing, held.strange, held.as_sent) == (1, 2, False)


@pytest.mark.parametrize("name", ["one-layer", "matrix factorisation"])
def test_reports_are_missing_once_the_server_has_acknowledged_them(device, desk, name):
    def lose(document):
        document.update(reports=[], sketch=None)

    mechanism = MECHANISMS[name]
    gone = [True]

    def change(request, response):
        if request.method == "POST" and gone:
            gone.pop()
            raise httpx.ConnectError("nobody there", request=request)
        return _on_get(altered("/me/reports", lose))(request, response)

    client = device(desk.link(desk.campaign(mechanism)), transport=Between(change), patience=0)
    with pytest.raises(UnansweredError):
        client.answer(answers_for(mechanism))
    assert (client.stored().as_sent, client.stored().empty) == (True, True)
    client.resume()
    missing = 3 if name == "one-layer" else 1
    assert (client.stored().missing, client.stored().as_sent) == (missing, False)


def test_reports_that_arrived_without_an_acknowledgement_are_compared(device):
    client = device(transport=Between(failing(1, _broken)), patience=0)
    with pytest.raises(UnansweredError):
        client.answer(ANSWERS)
    held = client.stored()
    assert (client.sent, held.as_sent, held.count, held.reports) == (False, True, 3, ())
    client.resume()
    assert client.stored().reports == client.sent_reports()


def _on_get(change):
    return lambda request, response: (
        change(request, response) if request.method == "GET" else response
    )


def test_requests_say_nothing_of_the_device(desk, device):
    link = desk.link(desk.campaign())
    baked = Between(
        lambda _, response: httpx.Response(
            response.status_code,
            headers={"Set-Cookie": "who=me; Path=/", "Content-Type": "application/json"},
            content=response.content,
        )
    )
    device(link, transport=baked).answer(ANSWERS)
    names = {"host", "accept", "accept-encoding", "connection", "content-type", "user-agent"}
    for request in baked.requests:
        assert request.headers["user-agent"] == "quietcrowd"
        assert request.headers["accept-encoding"] == "identity"
        assert set(request.headers) <= names | {"authorization", "content-length"}
    invite = link.partition("#i=")[2]
    shown = [request for request in baked.requests if invite in request.content.decode()]
    assert [request.method for request in shown] == ["PUT"]
    assert not any(invite in str(request.url) for request in baked.requests)


def test_requests_are_not_led_elsewhere(device):
    wire = Between(
        lambda *_: httpx.Response(302, headers={"Location": "https://elsewhere.example"})
    )
    with pytest.raises(CampaignError, match="redirects requests"):
        _ = device(transport=wire).terms
    assert len(wire.requests) == 1


def test_neither_files_nor_requests_nor_messages_hold_an_answer(desk, device, tmp_path, capfd):
    link = desk.link(desk.campaign(MECHANISMS["laplace"]))
    wire = Between(failing(2, _broken))
    client = device(link, transport=wire, patience=0)
    client.join()
    secret = {f"t{place}": NUMBER for place in range(3)}
    with pytest.raises(AnswerError) as caught:
        client.answer({**secret, "t9": NUMBER})
    for send in (lambda: client.answer(secret), client.resume):
        with pytest.raises(UnansweredError):
            send()
    client.resume()
    files = [path for path in (tmp_path / "device").rglob("*") if path.is_file()]
    places = [path.read_bytes() for path in files]
    places += [request.content + str(request.url).encode() for request in wire.requests]
    places += [
        str(caught.value).encode(),
        repr(client).encode(),
        *map(str.encode, capfd.readouterr()),
    ]
    assert len(files) > 5
    assert not any(b"65432109876543" in place for place in places)
    invite = link.partition("#i=")[2].encode()
    assert not any(invite in path.read_bytes() for path in files)
    assert invite not in repr(client).encode()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "device").rglob("*"))


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", [nightly("one-layer"), "one-layer with NULL"])
def test_frequencies_of_what_is_sent_are_those_of_the_table(tmp_path, name):
    mechanism = MECHANISMS[name]
    fake = Fake.of(mechanism, tasks=600)
    table = fake.public["config"]["channel"]["weights"]
    for answer in range(len(table)):
        counts = [0] * len(table)
        given = None if answer == 2 else mechanism.domain.labels[answer]
        for place in range(3):
            folder = tmp_path / f"{answer}-{place}"
            client = Client(NOWHERE, folder=folder, transport=fake)
            client.join()
            client.answer({task["task"]: given for task in fake.tasks})
            for item in upload_of(client).items:
                counts[item["value"]] += 1
        for value, count in enumerate(counts):
            distribution = table[answer][value] / 2**32
            assert binomtest(count, sum(counts), distribution).pvalue > 1e-8


@pytest.mark.nightly
@pytest.mark.slow
def test_a_device_loads_nothing_of_the_server(program, tmp_path):
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from quietcrowd.campaign import Client
from quietcrowd.campaign.device.draw import CommittedReports
client = Client({NOWHERE!r}, folder={str(tmp_path)!r})
client.spent()
heavy = ("alembic", "fastapi", "opendp", "pandas", "pydantic", "scipy", "sqlalchemy",
         "uvicorn")
sys.exit(", ".join(name for name in heavy if name in sys.modules) or 0)
"""
    assert program(sys.executable, "-c", code).finished() == (0, "", "")


def test_a_device_needs_httpx(monkeypatch):
    import quietcrowd.campaign

    with monkeypatch.context() as without:
        without.setattr("quietcrowd.campaign.extra.find_spec", lambda _: None)
        with pytest.raises(
            MissingExtraError, match=r"an HTTP client: .* with the extra \[campaign\]"
        ):
            _ = quietcrowd.campaign.Client
    with pytest.raises(AttributeError, match="no attribute 'Server'"):
        _ = quietcrowd.campaign.Server


def test_the_default_folder_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    fake = Fake.of(YES_NO)
    Client(NOWHERE, transport=fake).join()
    assert (tmp_path / "quietcrowd" / "campaigns").is_dir()


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"budget": -1}, "budget must be a finite number"),
        ({"delta": 1}, "delta must be at least 0 and below 1"),
        ({"patience": -1}, "patience must be"),
    ],
)
def test_numbers_out_of_range_are_refused(members, told):
    with pytest.raises(ParameterError, match=told):
        Client(NOWHERE, **members)


HANDS_OUT = {"answers_per_participant": 2, "allotment": "random"}


def test_a_worker_is_asked_some_of_the_tasks(desk, device):
    campaign = desk.campaign(tasks=5, **HANDS_OUT)
    client = device(desk.link(campaign))
    assert client.guarantee == YES_NO.guarantee(answers=2)
    assert client.affordable() == 2
    client.join()
    asked = [task.name for task in client.tasks]
    assert len(asked) == 2
    assert client.not_asked == {f"t{place}" for place in range(5)} - set(asked)
    for name in client.not_asked:
        with pytest.raises(AnswerError, match=f"the task '{name}' was not assigned to this worker"):
            client.answer({asked[0]: "yes", name: "no"})
    assert not client.committed
    assert client.answer(dict.fromkeys(asked, "yes")).accepted == 2
    assert client.stored().as_sent
    assert {report.task for report in client.sent_reports()} == set(asked)


def test_a_budget_is_kept_by_the_filter_where_tasks_follow_from_reports(device):
    """What is composed of a number fixed beforehand would let this device answer once more."""
    mechanism = qc.RandomizedResponse(domain=YES_NO.domain, epsilon=1.0)
    fake = Fake.of(mechanism, tasks=50, answers=50, allotment="suggested")
    fixed = PrivacyLedger().charge("me", mechanism, answers=50, tasks=50)
    assert fixed.spent("me", 1e-6).total_epsilon < 48
    client = device(NOWHERE, transport=fake, budget=48, delta=1e-6)
    assert client.affordable() == 48
    assert "by the reports of others" in " ".join(client.consent)


def test_a_device_keeps_the_tasks_that_it_was_first_given(device):
    fake = Fake.of(YES_NO, tasks=5, answers=2, allotment="random")
    client = device(NOWHERE, transport=fake)
    client.join()
    first = [task.name for task in client.tasks]
    given = fake.allotted
    fake.allotted = [task["task_id"] for task in fake.tasks[2:4]]
    later = device(NOWHERE, transport=fake)
    for act in (
        later.join,
        lambda: later.tasks,
        lambda: later.answer(dict.fromkeys(["t0", "t1", "t2", "t3", "t4"], "yes")),
        lambda: later.answer(dict.fromkeys(first, "yes")),
    ):
        with pytest.raises(CampaignError, match="assigns this device other tasks than before"):
            act()
    assert fake.posted == []
    fake.allotted = given
    assert later.answer(dict.fromkeys(first, "yes")).accepted == 2
    fake.allotted = [task["task_id"] for task in fake.tasks[2:4]]
    with pytest.raises(CampaignError, match="Nothing more is sent"):
        device(NOWHERE, transport=fake).sent_reports()
    assert len(fake.posted) == 1


def test_who_left_before_answering_may_be_asked_others(device):
    fake = Fake.of(YES_NO, tasks=5, answers=2, allotment="random")
    client = device(NOWHERE, transport=fake)
    client.join()
    client.withdraw()
    fake.allotted = [task["task_id"] for task in fake.tasks[2:4]]
    client.join()
    assert [task.id for task in client.tasks] == fake.allotted


def test_a_device_that_stopped_while_joining_keeps_them_from_the_first_answer_on(device):
    fake = Fake.of(YES_NO, tasks=5, answers=2, allotment="random")
    fake.tasks, kept = fake.tasks[:4], fake.tasks
    client = device(NOWHERE, transport=fake)
    with pytest.raises(CampaignError, match="not those that you agreed to"):
        client.join()
    fake.tasks = kept
    fake.allotted = [task["task_id"] for task in fake.tasks[1:3]]
    client.join()
    assert [task.id for task in client.tasks] == fake.allotted


CODE = r"[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}"


def test_another_device_goes_on_with_the_code(desk, device, tmp_path):
    given = {"answers_per_participant": 3, "allotment": "random"}
    link = desk.link(desk.campaign(tasks=9, **given))
    first, second = device(link), device(link, folder=tmp_path / "second")
    assert first.code is None
    first.join()
    code = first.code
    assert re.fullmatch(CODE, code)
    for wrong in ("", "7KQ2", code[:-1] + "U"):
        with pytest.raises(ParameterError, match="16 letters and digits"):
            second.join(wrong)
    with pytest.raises(CampaignError, match="does not belong"):
        second.join(other_code(code))
    second.join(code.lower().replace("-", " ").replace("0", "o").replace("1", "i"))
    assert (second.code, second.tasks) == (code, first.tasks)
    answers = {task.name: "yes" for task in second.tasks}
    with pytest.raises(CampaignError):
        first.answer(answers)
    assert (first.committed, first.spent().total_epsilon) == (False, 0)
    first.join(code)
    assert second.code == first.code
    with pytest.raises(CampaignError):
        second.answer(answers)
    assert first.answer(answers).accepted == 3
    assert first.code is None
    with pytest.raises(AnswerError, match="answered"):
        first.join(code)
    assert (second.committed, second.spent().total_epsilon) == (False, 0)


def files_of(client):
    """Return the contents of a campaign's files, without the lock."""
    files = {file.name: file.read_bytes() for file in client._folder.path.glob("*")}
    return {name: content for name, content in files.items() if name != "lock"}


def other_code(code):
    return code[:-1] + ("0" if code[-1] != "0" else "1")


@pytest.mark.grid
@pytest.mark.parametrize("refused", ["a wrong code", "a revoked link"])
@pytest.mark.parametrize("joined", [True, False])
def test_a_refused_join_leaves_the_folder_as_it_was(desk, device, tmp_path, joined, refused):
    campaign = desk.campaign()
    good, bad, elsewhere = (desk.link(campaign) for _ in range(3))
    revoked = {"invite": bad.partition("=")[2]}
    desk.client.post(f"/campaigns/{campaign}/invites/revoke", json=revoked).raise_for_status()
    client, other = device(good), device(elsewhere, folder=tmp_path / "other")
    other.join()
    if joined:
        client.join()
    before = files_of(client)
    with pytest.raises(CampaignError, match="rejected the request"):
        client.join(other_code(other.code)) if refused[2] == "w" else device(bad).join()
    assert (files_of(client), client.joined) == (before, joined)
    assert device(good).answer(ANSWERS).accepted == 3


def test_a_join_without_an_answer_is_repeated_as_it_was(desk, device, tmp_path):
    """The server may have moved the place: only the same credential has it then."""
    link = desk.link(desk.campaign())
    first = device(link)
    first.join()
    lost = []

    def lose(request, response):
        if request.method == "PUT" and len(lost) < 2:
            lost.append(request.content)
            raise httpx.ReadTimeout("lost", request=request)
        return response

    second = device(link, folder=tmp_path / "second", transport=(wire := Between(lose)), patience=0)
    for _ in range(2):
        with pytest.raises(UnansweredError):
            second.join(first.code)
    assert not second.joined
    second.join(first.code)
    joins = [one for one in wire.requests if "/participants/" in one.url.path]
    assert len({(one.url.path, one.content) for one in joins}) == 1
    assert (len(lost), second.code) == (2, first.code)
    assert second.answer(ANSWERS).accepted == 3


def test_who_withdraws_after_a_join_without_an_answer_is_deleted(desk, device):
    def lose(request, response):
        if request.method == "PUT":
            raise httpx.ReadTimeout("lost", request=request)
        return response

    campaign = desk.campaign()
    client = device(desk.link(campaign), transport=Between(lose), patience=0)
    with pytest.raises(UnansweredError):
        client.join()
    client.withdraw()
    assert files_of(client) == {}
    assert desk.client.get(f"/campaigns/{campaign}").json()["participants"] == 0


def test_a_device_whose_place_was_moved_is_told_so(desk, device, tmp_path):
    link = desk.link(desk.campaign())
    first, second = device(link), device(link, folder=tmp_path / "second")
    first.join()
    second.join(first.code)
    for ask in (first.join, lambda: first.answer(ANSWERS)):
        with pytest.raises(CampaignError, match="continued on another device") as caught:
            ask()
        assert caught.value.code == "campaign.place-moved"


def test_a_place_that_moves_while_its_worker_answers_is_told(desk, device, tmp_path):
    link = desk.link(desk.campaign())

    def move(request, response):
        if request.method == "GET" and request.url.path.endswith("/me/tasks"):
            device(link, folder=tmp_path / "second").join(first.code)
        return response

    first = device(link)
    first.join()
    first = device(link, transport=Between(move))
    with pytest.raises(CampaignError, match="continued on another device"):
        first.answer(ANSWERS)
    assert (first.committed, first.spent().total_epsilon) == (False, 0)


def test_a_new_link_begins_anew_where_the_old_one_was_replaced(desk, device):
    campaign = desk.campaign(tasks=9, answers_per_participant=3, allotment="random")
    [invite] = desk.invite(campaign)
    first = device(f"{desk.server.url}/j/{campaign}#i={invite}")
    first.join()
    made = desk.client.post(f"/campaigns/{campaign}/invites/replace", json={"invite": invite})
    [new] = made.raise_for_status().json()["invites"]
    with pytest.raises(CampaignError, match="revoked"):
        first.join()
    second = device(f"{desk.server.url}/j/{campaign}#i={new}")
    answers = {task.name: "yes" for task in first.tasks}
    assert second.answer(answers).accepted == 3


def test_a_public_link_has_no_code(desk, device):
    client = device(f"{desk.server.url}/j/{desk.campaign(join_mode='open')}")
    client.join()
    assert client.code is None


@pytest.mark.parametrize("end", ["revoke", "replace"])
def test_who_has_no_place_draws_nothing(desk, device, end):
    campaign = desk.campaign()
    [invite] = desk.invite(campaign)
    client = device(f"{desk.server.url}/j/{campaign}#i={invite}")
    client.join()
    url = f"/campaigns/{campaign}/invites/{end}"
    desk.client.post(url, json={"invite": invite}).raise_for_status()
    with pytest.raises(CampaignError):
        client.answer(ANSWERS)
    assert (client.committed, client.spent().total_epsilon) == (False, 0)


def test_of_many_devices_with_one_link_one_draws(desk, device, tmp_path):
    campaign = desk.campaign()
    link = desk.link(campaign)
    clients = [device(link, folder=tmp_path / str(place)) for place in range(8)]
    for client in clients:
        client.join()

    def answer(client):
        with suppress(CampaignError):
            client.answer(ANSWERS)

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(answer, clients))
    assert sum(client.committed for client in clients) == 1
    assert sum(client.sent for client in clients) == 1
    assert desk.client.get(f"/campaigns/{campaign}").json()["participants"] == 1


def test_a_device_that_stops_between_place_and_draw_draws_later(device, monkeypatch):
    client = device()

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as changed:
        changed.setattr("quietcrowd.campaign.device.draw.Draw.commit", stop)
        with pytest.raises(KeyboardInterrupt):
            client.answer(ANSWERS)
    assert not client.committed
    assert client.answer(ANSWERS).accepted == 3


def test_twenty_lost_answers_take_one_place(desk, device):
    campaign = desk.campaign()
    lost = []

    def lose(request, response):
        if request.url.path.endswith("/me/place") and len(lost) < 20:
            lost.append(request)
            raise httpx.ReadTimeout("lost", request=request)
        return response

    wire = Between(lose)
    client = device(desk.link(campaign), transport=wire)
    assert client.answer(ANSWERS).accepted == 3
    assert len(lost) == 20
    assert len(wire.bodies()) == 1


def test_reports_of_an_older_version_take_their_place_before_they_are_sent(device):
    client = device(transport=(wire := Between()))
    with pytest.MonkeyPatch.context() as changed:
        server = "quietcrowd.campaign.device.http_client.CampaignServer"
        changed.setattr(f"{server}.take_place", lambda *_: None)
        with pytest.raises(CampaignError, match="not taken a place"):
            client.answer(ANSWERS)
    assert client.committed
    assert client.resume().accepted == 3
    assert len(set(wire.bodies())) == 1
