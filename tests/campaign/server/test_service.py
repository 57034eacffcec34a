import io
import json

import pytest
from tests.campaign.damage import damage
from tests.campaign.people import check_problem, new_desk
from tests.programs import finished

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server import logs
from quietcrowd.campaign.server.service import (
    known_already,
    not_modified,
    require_state,
    require_step,
)
from quietcrowd.campaign.store import health
from quietcrowd.exceptions import ParameterError

STATES = ["draft", "open", "closed"]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("wanted", STATES)
def test_a_draft_is_opened_and_what_is_open_is_closed(state, wanted):
    if (state, wanted) in (("draft", "open"), ("open", "closed")):
        require_step(state, wanted)
    else:
        with pytest.raises(ProblemError, match="bad-state"):
            require_step(state, wanted)


def test_states_are_required():
    require_state("open", "open")
    with pytest.raises(ProblemError, match="bad-state"):
        require_state("closed", "open")


def test_a_server_says_that_it_is_there(server):
    for path in ("/healthz", "/readyz"):
        answer = server.client().get(path)
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok"}


def test_a_server_of_which_a_part_has_ended_says_so(start_server):
    own = start_server(infer=True)
    client = own.client()
    assert client.get("/readyz").status_code == 200
    own.service.infer.__self__.close()
    check_problem(client.get("/readyz"), 503, "broken")
    assert client.get("/healthz").status_code == 200


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder on a disk of 2 MB: a new database, and its journal before it is emptied."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        done = finished(*words).status
    except OSError:
        done = 1
    if done:
        pytest.skip("nobody may mount a small disk here")
    yield folder
    finished("umount", folder, check=True)


def fill(file):
    """Write until there is no room."""
    with file.open("wb", buffering=0) as other:
        while True:
            other.write(bytes(1_000))


@pytest.mark.usefixtures("log_as_before")
def test_a_full_disk_is_told_of_until_there_is_room(small_disk, start_server, monkeypatch):
    monkeypatch.setattr(health, "_EVERY", 0.0)
    own, stream = start_server(database=f"sqlite:///{small_disk}/q.db"), io.StringIO()
    desk = new_desk(own)
    assert desk.client.get("/readyz").status_code == 200
    logs.start_log(stream)
    with pytest.raises(OSError, match="No space left"):
        fill(small_disk / "other")
    check_problem(desk.client.get("/readyz"), 503, "unwritable")
    refused = desk.client.post("/campaigns", content=b"{}")
    assert refused.status_code in (415, 422), "what writes nothing is answered as ever"
    assert desk.client.get("/healthz").status_code == 200
    (small_disk / "other").unlink()
    assert desk.client.get("/readyz").status_code == 200
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    [unready] = [line for line in told if line["event"] == "unready"]
    assert unready["code"].startswith(("SQLITE_FULL", "SQLITE_IOERR"))
    assert unready["time"].endswith("Z")


def test_a_damaged_database_is_not_ready(start_server):
    """`readyz` said 200, or that the disk was full, and requests were answered with 500."""
    own = start_server()
    desk = new_desk(own)
    campaign = desk.campaign(join_mode="open", at_least=1)
    worker = desk.worker(campaign)
    own.database.engine.dispose()  # its pages in memory are whole
    damage(own.database.path, "participant")
    check_problem(worker.client.get("/me/tasks"), 503, "unavailable")
    detail = check_problem(own.client().get("/readyz"), 503, "damaged")["detail"]
    assert "quietcrowd admin restore" in detail
    assert own.client().get("/healthz").status_code == 200


def test_a_damaged_database_is_not_served(start_server, tmp_path):
    own = start_server()
    own.stop()
    damage(tmp_path / "own0.db", "sketch")
    with pytest.raises(ParameterError, match="it is damaged"):
        start_server(database=own.settings.database)


@pytest.mark.parametrize(
    ("if_none_match", "known"),
    [
        (None, False),
        ("", False),
        ('"a"', True),
        ('W/"a", "b"', True),
        ("*", True),
        ('"a-0"', False),
    ],
)
def test_what_is_known_is_told_by_its_tag(if_none_match, known):
    assert known_already('"a"', if_none_match) == known


def test_what_is_known_is_not_sent_again():
    answer = not_modified('"a"')
    assert (answer.status_code, answer.body, answer.headers["etag"]) == (304, b"", '"a"')
