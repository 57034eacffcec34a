"""What must not be kept is nowhere: not in the database, its journal, a copy, or the log."""

import io
import json
import logging

import httpx
import pytest
from tests.campaign.journals import can_be_emptied
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import PLAIN, new_desk
from tests.campaign.pictures import hash_of, png
from tests.campaign.waiting import LONG

from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server import logs
from quietcrowd.campaign.terms.tokens import new_code, token_hash

PLANTED = "planted-secret"
PICTURE = png(7, (b"iCCP", bytes(range(256)) * 80))


@pytest.fixture
def logged(log_as_before):  # noqa: ARG001
    """Return a stream that the log goes to."""
    stream = io.StringIO()
    logs.start_log(stream)
    return stream


@pytest.fixture
def own(start_server):
    return start_server()


def play(desk):
    """Play a whole campaign, with a secret wherever one could slip in; return what is secret."""
    campaign = desk.campaign(MECHANISMS["one-layer"], image=PICTURE)
    invites, code, wrong = desk.invite(campaign, 4), new_code(), new_code()
    new = f"/campaigns/{campaign}/invites/replace"
    invites += desk.client.post(new, json={"invite": invites.pop()}).json()["invites"]
    workers = [desk.guest(campaign) for _ in invites]
    headers = {"User-Agent": PLANTED, "X-Forwarded-For": PLANTED, "Cookie": PLANTED}
    for worker, invite in zip(workers, invites, strict=True):
        worker.client.headers.update(headers)
        desk.join(desk.guest(campaign), invite, code=code).raise_for_status()
        assert desk.join(worker, invite, code=wrong, continues=True).status_code == 403
        assert desk.join(worker, invite, code=PLANTED, continues=True).status_code == 422
        desk.join(worker, invite, code=code, continues=True).raise_for_status()
        sent = worker.report(worker.tasks()[0]["task_id"], 1)
        assert worker.send({**sent, "value": PLANTED}).status_code == 422
        assert worker.send({**sent, PLANTED: 1}).status_code == 422
        assert worker.client.get(f"/me?answer={PLANTED}").status_code == 200
        assert worker.client.get(f"/{PLANTED}").status_code == 404
        assert worker.client.get(f"/me/images/{hash_of(PICTURE)}").content == PICTURE
        worker.send_values(1, 0, 1)
    secrets = [desk.key, *invites, *(worker.credential for worker in workers)]
    secrets += [code, wrong, desk.code(campaign), desk.token(campaign)]
    look(desk, campaign, secrets[-1])
    draw_up(desk)
    return campaign, workers, [*secrets, PLANTED, "127.0.0.1", "python-httpx"]


def draw_up(desk):
    """Read a file for a draft of which a column is left out, and send an image with a comment."""
    url = f"/campaigns/{desk.draft()['id']}"
    file = f"question,rater\nIs it a bird?,{PLANTED}\nIs it old?,b\n"
    for path, shown in (("tasks/reading", None), ("tasks", "question")):
        params = {"file": PLANTED} | ({} if shown is None else {"shown": shown})
        sent = desk.client.post(f"{url}/{path}", content=file, params=params)
        sent.raise_for_status()
    image = png(0, (b"tEXt", PLANTED.encode()))
    desk.client.post(f"{url}/images", content=image).raise_for_status()
    for path in ("readiness", "preview"):
        assert desk.client.get(f"{url}/{path}").status_code == 200


def look(desk, campaign, token):
    """Look at results with a token, in vain too, and at the requester's keys."""
    reader = desk.server.client(token)
    assert reader.get(f"/campaigns/{campaign}").status_code == 200
    assert reader.get(f"/campaigns/{campaign}/reports").status_code == 401
    assert reader.get(f"/campaigns/{campaign}/funnel").status_code == 200
    assert reader.get(f"/campaigns/{campaign}/estimates").status_code == 409
    assert reader.get(f"/campaigns/{campaign}/preview").status_code == 401
    assert desk.client.get("/keys").json()["items"][0]["last4"] == desk.key[-4:]


def test_no_file_holds_a_secret(own, tmp_path):
    desk = new_desk(own)
    campaign, _, secrets = play(desk)
    Inferrer(own.database).infer(bytes.fromhex(campaign))
    own.database.backup(tmp_path / "copy.db")
    files = [file for file in tmp_path.iterdir() if file.is_file()]
    assert {"own0.db", "own0.db-wal", "copy.db"} <= {file.name for file in files}
    content = {file.name: file.read_bytes() for file in files}
    assert any(
        campaign.encode() in one or bytes.fromhex(campaign) in one for one in content.values()
    )
    for secret in secrets:
        assert [name for name, one in content.items() if secret.encode() in one] == []


def test_who_withdrew_is_in_no_file(own, tmp_path):
    desk = new_desk(own)
    campaign, workers, _ = play(desk)
    Inferrer(own.database).infer(bytes.fromhex(campaign))
    leaver = workers[0]
    pseudonym = leaver.client.get("/me").json()["pseudonym"]
    report = leaver.client.get("/me/reports").json()["reports"][0]["report_id"]
    leaver.client.delete("/me").raise_for_status()
    assert can_be_emptied(own.database)
    files = [file.read_bytes() for file in tmp_path.iterdir() if file.is_file()]
    for trace in (pseudonym.encode(), bytes.fromhex(report), bytes.fromhex(leaver.id)):
        assert not any(trace in one for one in files)
    stays = workers[1].client.get("/me").json()["pseudonym"].encode()
    assert any(stays in one for one in files)


def test_once_closed_no_file_links_a_worker_with_an_invite(own, tmp_path):
    desk = new_desk(own)
    campaign = desk.campaign(MECHANISMS["one-layer"])
    [invite] = desk.invite(campaign)
    worker = desk.guest(campaign)
    desk.join(worker, invite, code=new_code()).raise_for_status()
    worker.send_values(1)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert can_be_emptied(own.database)
    files = [file.read_bytes() for file in tmp_path.iterdir() if file.is_file()]
    assert any(token_hash(worker.credential) in one for one in files)
    assert not any(token_hash(invite) in one for one in files)


def test_a_deleted_campaign_is_in_no_file(own, tmp_path):
    desk = new_desk(own)
    campaign, workers, _ = play(desk)
    pseudonyms = [worker.client.get("/me").json()["pseudonym"] for worker in workers]
    desk.client.delete(f"/campaigns/{campaign}").raise_for_status()
    assert can_be_emptied(own.database)
    files = [file.read_bytes() for file in tmp_path.iterdir() if file.is_file()]
    traces = (bytes.fromhex(campaign), *(name.encode() for name in pseudonyms), b"Is it 1?")
    for trace in (*traces, PICTURE[60:1_000], PICTURE[-1_000:-100]):
        assert not any(trace in one for one in files)


def test_the_log_says_routes_and_nothing_of_who_or_what(own, logged):
    desk = new_desk(own)
    campaign, workers, secrets = play(desk)
    for path in (f"/j/{campaign}", "/worker/page.js", "/nowhere"):
        httpx.get(f"{own.url}{path}?PROLIFIC_PID={PLANTED}", verify=PLAIN, timeout=LONG)
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert len(lines) > 20
    assert {name for line in lines for name in line} <= set(logs.FIELDS)
    routes = {line["route"] for line in lines}
    assert "/api/v1/campaigns/{campaign}/open" in routes
    assert "/api/v1/campaigns/{campaign}/dashboard-tokens" in routes
    assert "unknown" in routes
    assert all(line["duration"] in ("<0.01s", "<0.1s", "<1s", "<10s", "slow") for line in lines)
    assert {"/api/v1/me/images/{sha256}", "/j/{campaign}", "/worker/{path}"} <= routes
    for secret in (*secrets, campaign, hash_of(PICTURE), *(worker.id for worker in workers)):
        assert secret not in logged.getvalue()


def test_a_failure_is_logged_by_its_place(logged):
    try:
        raise ValueError(PLANTED)
    except ValueError as error:
        logs.log_failure("writer", error)
    [line] = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert line["error"] == "ValueError"
    assert line["place"].startswith("test_a_failure_is_logged_by_its_place:")
    assert PLANTED not in logged.getvalue()


def test_methods_and_extra_fields_are_on_lists(logged):
    logs.log_request(PLANTED, "unknown", 405, 0.001)
    logging.getLogger("quietcrowd.campaign").info(PLANTED, extra={"address": PLANTED})
    assert PLANTED not in logged.getvalue()
    first, second = (json.loads(line) for line in logged.getvalue().splitlines())
    assert first["method"] == "other"
    assert second == {}


@pytest.mark.nightly
def test_reports_lie_in_an_order_that_tells_nothing(own):
    desk = new_desk(own)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open", tasks=1)
    arrived = []
    for _ in range(20):
        worker = desk.worker(campaign)
        worker.send_values(1)
        arrived.append(worker.id)
    raw = own.database.engine.raw_connection()
    for table, column in (("report", "participant_id"), ("participant", "id")):
        rows = raw.cursor().execute(f"SELECT lower(hex({column})) FROM {table}").fetchall()
        stored = [row[0] for row in rows]
        assert stored == sorted(arrived)
        assert stored != arrived
    raw.close()
