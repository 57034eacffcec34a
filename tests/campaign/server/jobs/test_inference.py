import io
import os
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import check_problem, new_desk
from tests.campaign.waiting import LONG, in_time
from tests.nightly import nightly

from quietcrowd import MajorityVote
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.jobs import inference
from quietcrowd.inference import registry


def wait_for(client, url, wanted):
    """Return the results, once they are as wanted."""
    answers = []

    def is_there():
        answers.append(client.get(url))
        return answers[-1].status_code == 200 and wanted(answers[-1].json())

    assert in_time(is_there, every=0.05), "no such results in time"
    return answers[-1]


class Clock:
    """Stands still until somebody moves its hands; counts who looks at it."""

    now, looks = 0.0, 0

    def monotonic(self):
        self.looks += 1
        return self.now


@pytest.mark.nightly
def test_results_follow_reports_and_method_and_survive_the_death_of_their_process(start_server):
    own = start_server(infer=True, debounce=0.2)
    desk = new_desk(own)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    url = f"/campaigns/{campaign}/results"
    check_problem(desk.client.get(url), 409, "no-results")
    for _ in range(3):
        desk.worker(campaign).send_values(1, 0, 1)
    answer = wait_for(desk.client, url, lambda results: results["reports"] == 9)
    unchanged = desk.client.get(url, headers={"If-None-Match": answer.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    jobs = own.service.infer.__self__
    jobs._process.kill()
    desk.worker(campaign).send_values(1)
    wait_for(desk.client, url, lambda results: results["reports"] == 10)
    late = desk.worker(campaign)
    late.send_values(1, 1)
    wait_for(desk.client, url, lambda results: results["reports"] == 12)
    late.client.delete("/me").raise_for_status()
    wait_for(desk.client, url, lambda results: results["reports"] == 10)
    etag = desk.client.get(f"/campaigns/{campaign}").headers["etag"]
    desk.client.patch(
        f"/campaigns/{campaign}",
        json={"method": MajorityVote().to_dict()},
        headers={"If-Match": etag},
    ).raise_for_status()
    wait_for(desk.client, url, lambda results: results["method"]["method"] == "majority")


def test_changes_within_a_while_are_one_inference(server, monkeypatch):
    asked = []
    monkeypatch.setattr(
        inference.InferenceJobs, "_infer", lambda _, campaign: asked.append(campaign)
    )
    monkeypatch.setattr(inference, "outdated_campaigns", lambda _: [])
    clock = Clock()
    monkeypatch.setattr(inference, "time", clock)
    jobs = inference.InferenceJobs(database=server.database, debounce=0.3, longest=LONG)
    for _ in range(100):
        jobs.request(b"one")
    jobs.request(b"two")
    looks = clock.looks
    assert in_time(lambda: clock.looks >= looks + 2)  # it has woken up, though in vain
    assert asked == []
    clock.now = 0.3
    assert in_time(lambda: len(asked) >= 2)
    assert set(jobs._due) <= {inference._LOOK}
    jobs.close()
    assert sorted(asked) == [b"one", b"two"]


def test_a_campaign_rests_for_longer_than_its_inference_took(server, monkeypatch):
    class Told(io.StringIO):
        """Answers each time that it took 0.2 s; during the first time the same is asked for."""

        def readline(self, *given):
            if not self.tell():
                jobs.request(b"one")
            return super().readline(*given)

    told = Told("done 0.200\n" * 5)
    process = SimpleNamespace(stdin=io.StringIO(), stdout=told, kill=lambda: None)
    monkeypatch.setattr(inference, "outdated_campaigns", lambda _: [])
    monkeypatch.setattr(inference.InferenceJobs, "_started", lambda _: process)
    clock = Clock()
    monkeypatch.setattr(inference, "time", clock)
    jobs = inference.InferenceJobs(database=server.database, debounce=0.0, longest=LONG)
    jobs.request(b"one")
    assert in_time(lambda: b"one" in jobs._rests)
    clock.now = 0.59
    jobs.request(b"two")
    assert in_time(lambda: b"two" in jobs._rests)
    asked = [b"one".hex(), b"two".hex()]
    assert process.stdin.getvalue().split() == asked
    clock.now = 0.61
    assert in_time(lambda: jobs._rests[b"one"] > 1)
    jobs.request(b"one")
    clock.now = 1.2
    jobs.request(b"two")
    clock.now = 1.22
    assert in_time(lambda: len(process.stdin.getvalue().split()) == 5)
    jobs.close()
    assert process.stdin.getvalue().split() == [*asked, *asked, b"one".hex()]


@pytest.mark.nightly
def test_what_was_not_inferred_before_the_end_is_inferred_after_the_start(start_server, tmp_path):
    url = f"sqlite:///{tmp_path}/left.db"
    first = start_server(database=url)
    desk = new_desk(first)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    desk.worker(campaign).send_values(1, 0, 1)
    first.stop()
    second = start_server(database=url, infer=True, debounce=0.0)
    client = second.client(desk.key)
    wait_for(client, f"/campaigns/{campaign}/results", lambda results: results["reports"] == 3)


@pytest.mark.nightly
def test_what_another_server_took_in_is_inferred(start_server, postgresql_server, monkeypatch):
    monkeypatch.setattr(inference, "_EVERY", 0.5)
    url = postgresql_server.new_database()
    start_server(database=url, infer=True, debounce=0.0)
    desk = new_desk(start_server(database=url))
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    for reports in (3, 6):
        desk.worker(campaign).send_values(1, 0, 1)
        url = f"/campaigns/{campaign}/results"
        wait_for(desk.client, url, lambda results, wanted=reports: results["reports"] == wanted)


def held_of(server):
    """Return the files without a name that the process for inferences of a server has."""
    files = Path(f"/proc/{server.service.infer.__self__._process.pid}/fd").iterdir()
    return [where for file in files if (where := os.readlink(file)).endswith(" (deleted)")]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")
@pytest.mark.parametrize("by_another", [False, nightly(True)])
def test_what_is_deleted_is_forgotten_where_it_was_inferred(
    start_server, postgresql_server, monkeypatch, tmp_path, by_another
):
    """The workers' weights are kept in a file for the next inference, in the folder for it."""
    monkeypatch.setattr(inference, "_EVERY", 0.5 if by_another else 60.0)
    url = postgresql_server.new_database()
    given = {"inference_memory": 0, "inference_folder": str(tmp_path), "debounce": 0.0}
    infers = start_server(database=url, infer=True, **given)
    desk = new_desk(start_server(database=url) if by_another else infers)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    desk.worker(campaign).send_values(1, 0, 1)
    wait_for(desk.client, f"/campaigns/{campaign}/results", lambda results: results["reports"] == 3)
    in_time(lambda: held_of(infers))
    assert all(where.startswith(str(tmp_path)) for where in held_of(infers))
    desk.client.delete(f"/campaigns/{campaign}").raise_for_status()
    assert in_time(lambda: not held_of(infers))


def test_a_look_that_fails_is_followed_by_others(start_server, postgresql_server, monkeypatch):
    looks = []

    def look(_):
        looks.append(1)
        if len(looks) == 2:
            raise LookupError
        return []

    monkeypatch.setattr(inference, "_EVERY", 0.1)
    monkeypatch.setattr(inference, "outdated_campaigns", look)
    start_server(database=postgresql_server.url, infer=True, debounce=0.0)
    assert in_time(lambda: len(looks) >= 4)


def test_the_only_server_of_a_file_looks_once(start_server, monkeypatch):
    looks = []
    monkeypatch.setattr(inference, "_EVERY", 0.01)
    monkeypatch.setattr(inference, "outdated_campaigns", lambda _: looks.append(1) or [])
    own = start_server(infer=True, debounce=0.0)
    assert looks == [1]
    assert own.service.infer.__self__._due == {}


def test_a_database_that_is_away_is_asked_again(server, monkeypatch):
    class Process:
        """Answers that the database is away, and then that it is there."""

        def __init__(self):
            self.stdin, self.stdout = io.StringIO(), io.StringIO("later\ndone 0.000\n")

        def kill(self):
            raise AssertionError

    process = Process()
    monkeypatch.setattr(inference, "_AGAIN", 0.01)
    monkeypatch.setattr(inference, "outdated_campaigns", lambda _: [])
    monkeypatch.setattr(inference.InferenceJobs, "_started", lambda _: process)
    jobs = inference.InferenceJobs(database=server.database, debounce=0.0, longest=LONG)
    jobs.request(b"one")
    assert in_time(lambda: process.stdout.tell() == len("later\ndone 0.000\n"))
    jobs.close()
    assert process.stdin.getvalue() == f"{b'one'.hex()}\n" * 2


@pytest.mark.nightly
def test_an_inference_that_fails_is_tried_again_and_told_of(start_server, monkeypatch, tmp_path):
    own = start_server(database=f"sqlite:///{tmp_path}/failing.db")
    desk = new_desk(own)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    desk.worker(campaign).send_values(1, 0, 1)
    asked = []

    def fail(_, one):
        asked.append(one)
        raise OSError

    monkeypatch.setattr(inference, "_PAUSE", 0.01)
    monkeypatch.setattr(inference, "_LONGEST_PAUSE", 0.1)
    infer = inference.InferenceJobs._infer
    monkeypatch.setattr(inference.InferenceJobs, "_infer", fail)
    jobs = inference.InferenceJobs(database=own.database, debounce=0.0, longest=LONG)
    url = f"/campaigns/{campaign}/results"
    answer = wait_for(desk.client, url, lambda results: results["reports"] == 3)
    assert [one["code"] for one in answer.json()["warnings"]] == ["failed"]
    assert set(asked) == {bytes.fromhex(campaign)}
    assert len(asked) >= 3
    monkeypatch.setattr(inference.InferenceJobs, "_infer", infer)
    wait_for(desk.client, url, lambda results: len(results["truths"]) == 3)
    jobs.close()


def test_of_two_servers_the_one_that_fails_leaves_the_results_of_the_other(server, monkeypatch):
    """It fails on what the other one infers, and on nothing newer."""
    desk = new_desk(server)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    desk.worker(campaign).send_values(1, 0, 1)
    told, write = [], inference.write_failure

    def fail(_, one):
        Inferrer(server.database).infer(one)
        raise OSError

    def note(*given):
        told.append(given)
        write(*given)

    monkeypatch.setattr(inference, "_PAUSE", 0.01)
    monkeypatch.setattr(inference, "outdated_campaigns", lambda _: [])
    monkeypatch.setattr(inference, "write_failure", note)
    monkeypatch.setattr(inference.InferenceJobs, "_infer", fail)
    jobs = inference.InferenceJobs(database=server.database, debounce=0.0, longest=LONG)
    jobs.request(bytes.fromhex(campaign))
    assert in_time(lambda: told)
    jobs.close()
    found = desk.client.get(f"/campaigns/{campaign}/results").json()
    assert len(found["truths"]) == 3


def test_a_failure_that_cannot_be_told_of_ends_nothing(start_server, monkeypatch):
    own = start_server()
    desk = new_desk(own)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    desk.worker(campaign).send_values(1, 0, 1)
    left, write = [KeyError(), TypeError()], inference.write_failure

    def write_at_last(*given):
        if left:
            raise left.pop()
        write(*given)

    def fail(*_):
        raise OSError

    for pause in ("_PAUSE", "_LONGEST_PAUSE", "_AGAIN"):
        monkeypatch.setattr(inference, pause, 0.01)
    monkeypatch.setattr(inference, "write_failure", write_at_last)
    monkeypatch.setattr(inference.InferenceJobs, "_infer", fail)
    jobs = inference.InferenceJobs(database=own.database, debounce=0.0, longest=LONG)
    wait_for(desk.client, f"/campaigns/{campaign}/results", lambda told: told["reports"] == 3)
    assert jobs.alive
    jobs.close()
    assert (left, jobs.alive) == ([], False)


@pytest.mark.nightly
def test_an_inference_that_takes_too_long_is_ended_and_told_of(start_server, monkeypatch):
    own = start_server()
    desk = new_desk(own)
    slow, quick = (desk.campaign(MECHANISMS["one-layer"], join_mode="open") for _ in range(2))
    for campaign in (slow, quick):
        desk.worker(campaign).send_values(1, 0, 1)
    hang = f"""
import sys
for line in sys.stdin:
    if line.strip() == "{slow}":
        import threading
        threading.Event().wait()
    elif not line.startswith("{{"):
        print("done 0.000", flush=True)
"""
    monkeypatch.setattr(inference, "_COMMAND", (sys.executable, "-c", hang))
    asked = []
    infer = inference.InferenceJobs._infer

    def note(self, one):
        asked.append(one.hex())
        return infer(self, one)

    monkeypatch.setattr(inference.InferenceJobs, "_infer", note)
    monkeypatch.setattr(inference, "outdated_campaigns", lambda _: [])
    jobs = inference.InferenceJobs(database=own.database, debounce=0.0, longest=1.0)
    jobs.request(bytes.fromhex(slow))
    jobs.request(bytes.fromhex(quick))
    url = f"/campaigns/{slow}/results"
    answer = wait_for(desk.client, url, lambda results: results["reports"] == 3)
    [told] = answer.json()["warnings"]
    assert told["code"] == "failed"
    assert "exceeded the time limit" in told["message"]
    assert in_time(lambda: len(asked) == 2)
    jobs.close()
    assert asked == [slow, quick]


OWN_METHOD = """
from attrs import frozen
from quietcrowd import MajorityVote
from quietcrowd.inference import register_method

@register_method
@frozen(kw_only=True, slots=False)
class OwnVote(MajorityVote):
    name = "own-vote"
"""


@pytest.mark.nightly
def test_a_method_of_another_package_is_known_where_it_infers(start_server, tmp_path, monkeypatch):
    (tmp_path / "own_methods.py").write_text(OWN_METHOD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    own = import_module("own_methods")
    try:
        server = start_server(infer=True, debounce=0.2)
        desk = new_desk(server)
        campaign = desk.campaign(
            MECHANISMS["one-layer"], join_mode="open", method=own.OwnVote().to_dict()
        )
        desk.worker(campaign).send_values(1, 0, 1)
        url = f"/campaigns/{campaign}/results"
        found = wait_for(desk.client, url, lambda results: results["reports"] == 3).json()
        assert found["method"]["method"] == "own-vote"
    finally:
        del registry._BY_NAME["own-vote"]
