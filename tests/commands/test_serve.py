"""``quietcrowd serve``, ``admin create-key`` and ``admin backup``."""

import json
import re
import signal
import socket
import sqlite3
import time

import pytest
from tests.campaign.ports import has_ipv6
from tests.campaign.server_process import new_key, server_process
from tests.campaign.waiting import LONG

from quietcrowd.campaign.server.logs import FIELDS
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.opening import only_server, ready_database


def test_keys_and_copies_are_made_beside_a_server(run, server, tmp_path):
    address = server.settings.database
    status, key, _ = run("admin", "create-key", "by command", "--database", address)
    assert status == 0
    assert server.client(key.strip()).get("/campaigns").status_code == 200
    if address.startswith("sqlite"):
        copy = tmp_path / "copy.db"
        assert run("admin", "backup", copy, "--database", address)[0] == 0
        connection = sqlite3.connect(copy)
        [(count,)] = connection.execute("SELECT count(*) FROM api_key").fetchall()
        connection.close()
        assert count > 0


def test_a_key_may_have_an_end_and_replace_those_before(run, server):
    words = ("admin", "create-key", "ends by command", "--database", server.settings.database)
    keys, begun = [run(*words)[1].strip()], time.time()
    keys.append(run(*words, "--days", 2)[1].strip())
    end = 2 * 86_400
    ends = [one["expires_at"] for one in server.client(keys[1]).get("/keys").json()["items"]]
    assert sorted(end is None for end in ends) == [False, True]
    assert begun + end - 1 <= max(filter(None, ends)) <= time.time() + end
    newest = run(*words, "--replace")[1].strip()
    told = [server.client(key).get("/keys").status_code for key in (*keys, newest)]
    assert told == [401, 401, 200]
    assert run(*words, "--days", 0)[0] == 2


@pytest.mark.parametrize("name", ["q.db", "link.db"])
def test_a_second_server_of_a_file_is_refused_in_one_sentence(run, tmp_path, name):
    (tmp_path / "link.db").symlink_to("q.db")
    with only_server(tmp_path / "q.db"):
        second = run("serve", "--database", f"sqlite:///{tmp_path}/{name}")
    assert second[0] == 2
    assert "another process serves" in second[2]
    assert len(second[2].splitlines()) == 1


def test_a_database_that_is_not_there_is_one_sentence(run):
    for words in (["serve", "--withdrawal-log", "none"], ["admin", "create-key", "me"]):
        status, _, error = run(*words, "--database", "postgresql://me:secret@127.0.0.1:1/name")
        assert status == 2
        assert "cannot be used" in error
        assert "secret" not in error
        assert "Traceback" not in error


def test_a_journal_that_was_lost_is_said_once(run, tmp_path, monkeypatch):
    served = []
    monkeypatch.setattr("quietcrowd.campaign.server.app.serve", lambda *given: served.append(given))
    words = ("serve", "--database", f"sqlite:///{tmp_path}/q.db")
    settings = Settings(database=words[-1])
    with ready_database(settings):
        pass
    (tmp_path / "q.db.departures").unlink()
    status, _, told = run(*words, "--accept-lost-withdrawal-log")
    assert (status, len(served)) == (0, 1)
    assert "Copies restore workers withdrawn before" in told
    with ready_database(settings):
        pass
    assert "omit --accept-lost-withdrawal-log" in run(*words, "--accept-lost-withdrawal-log")[2]


def half_a_request(port, key):
    """Return a connection whose request does not end, once the server waits for the rest."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=LONG)
    head = b"POST /api/v1/campaigns HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n"
    more = f"Authorization: Bearer {key}\r\nExpect: 100-continue\r\n\r\n"
    connection.sendall(head + more.encode())
    assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
    connection.sendall(b"{")
    return connection


@pytest.mark.nightly
@pytest.mark.slow
def test_a_server_ends_when_it_is_told_to(run, tmp_path):
    log, database = tmp_path / "log", f"sqlite:///{tmp_path}/q.db"
    key = new_key(database)
    with server_process(database, log, "--set", "body_seconds=3600") as server:
        taken = ("--port", server.port, "--database", f"sqlite:///{tmp_path}/other.db")
        refused = run("serve", *taken)
        assert (refused[0], "use another port" in refused[2]) == (2, True)
        with half_a_request(server.port, key):
            server.process.send_signal(signal.SIGTERM)
            server.program.finished(check=True)  # though it may wait an hour for a request
    lines = log.read_text().splitlines()
    assert lines[0].startswith("Serving campaigns on ")
    told = [json.loads(line) for line in lines if not line.startswith(("Serving", "  "))]
    assert told
    assert all(set(line) <= set(FIELDS) and "event" in line for line in told), told
    assert "Traceback" not in log.read_text()
    assert not (tmp_path / "q.db-wal").exists()


@pytest.mark.usefixtures("log_as_before")
@pytest.mark.parametrize(("host", "place"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_a_server_says_where_it_is_once_it_is_there(run, tmp_path, monkeypatch, host, place):
    if host == "::1" and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    for log in ("start_log", "log_what_nobody_catches"):  # they are for all of a process
        monkeypatch.setattr(f"quietcrowd.campaign.server.app.{log}", lambda: None)
    _, _, told = run(
        "serve", "--host", host, "--port", 0, "--database", f"sqlite:///{tmp_path}/q.db"
    )
    [(found, port)] = re.findall(r"Serving campaigns on http://(.*):(\d+);", told)
    assert (found, port != "0") == (place, True)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::"])
def test_what_is_not_encrypted_is_for_this_machine_alone(run, tmp_path, host):
    words = ("serve", "--host", host, "--port", 0, "--database", f"sqlite:///{tmp_path}/q.db")
    status, _, errors = run(*words)
    assert (status, errors.count("\n")) == (2, 1)
    assert f"{host} is reachable from other machines" in errors
    assert "--insecure" in errors


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--trusted-proxy", "0.0.0.0/0"), "'0.0.0.0/0'"),
        (("--set", "at_once_each=500", "--set", "at_once=10"), "at_once_each is 500"),
        (("--set", "connections_each=9", "--set", "connections=8"), "connections limits it to 8"),
    ],
)
def test_settings_that_contradict_each_other_are_one_line(run, tmp_path, words, told):
    database = f"sqlite:///{tmp_path}/q.db"
    status, _, errors = run("serve", "--port", 0, "--database", database, *words)
    assert (status, errors.count("\n")) == (2, 1)
    assert told in errors
    assert not list(tmp_path.iterdir())


def test_what_a_server_is_told_is_how_it_is_set_up(run, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("quietcrowd.campaign.server.app.serve", lambda one, _: seen.append(one))
    words = ("serve", "--database", f"sqlite:///{tmp_path}/q.db")
    assert run(*words)[0] == 0
    file = tmp_path / "crowd.toml"
    file.write_text("inference_timeout = 7\nhost = '::1'\ninference_memory = '3GB'\n")
    told = ("--settings", file, "--inference-timeout", 1.5, "--no-infer", "--set", "grace=0")
    told = (*told, "--port", 0, "--insecure")
    large = ("--inference-memory", "2GB", "--inference-folder", tmp_path, "--dask", "local:2")
    assert run(*words, *told, *large)[0] == 0
    usual, other = seen
    assert usual == Settings(database=words[-1])
    changed = {"inference_timeout": 1.5, "infer": False, "host": "::1", "port": 0, "grace": 0}
    changed |= {"inference_memory": 2 * 10**9, "inference_folder": str(tmp_path)}
    assert other == usual.model_copy(update={**changed, "insecure": True, "dask": "local:2"})
    status, _, errors = run(*words, "--inference-timeout", 0.5)
    assert (status, "--inference-timeout" in errors) == (2, True)
    for wrong, words_of_error in (
        (("--inference-memory", "much"), "bytes must be a number such as 800MB"),
        (("--inference-folder", tmp_path / "none"), "the directory"),
        (("--dask", "somewhere"), "scheduler must be tcp://host:port"),
    ):
        status, _, errors = run(*words, *wrong)
        assert (status, words_of_error in errors) == (2, True)
