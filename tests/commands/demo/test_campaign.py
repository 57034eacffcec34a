"""The demo as whoever starts it meets it: in a process of its own, which leaves nothing behind."""

import os
import re
import shutil
import signal
from subprocess import PIPE

import httpx
import pytest
from tests.campaign.waiting import LONG, in_time
from tests.programs import QUIETCROWD

from quietcrowd.campaign import Client
from quietcrowd.commands.demo.campaign import (
    TASKS,
    WORKERS,
    draw_crowd,
    own_answers,
    true_labels,
)


@pytest.fixture
def start(program, tmp_path):
    """Return a way to start the demo; its temporary files are in `tmp_path`."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    return lambda *words: program(*QUIETCROWD, "demo", *words, stdin=PIPE, env=environment)


def exchanged(link):
    """Return the answer to whoever opens a link to the dashboard."""
    page, code = link.split("#c=")
    server, campaign = page.split("/dashboard/")
    return httpx.post(
        f"{server}/api/v1/campaigns/{campaign}/dashboard-tokens",
        headers={"Authorization": f"Bearer {code}"},
        verify=False,
        timeout=LONG,
    )


def reader_of(link):
    """Return a way to ask for the results of the campaign whose dashboard a link is of."""
    token = exchanged(link).json()["token"]
    address = link.partition("#")[0].replace("/dashboard/", "/api/v1/campaigns/")
    headers = {"Authorization": f"Bearer {token}"}
    return lambda: httpx.get(f"{address}/results", headers=headers, verify=False, timeout=LONG)


def senders(page, key):
    """Return how many workers sent, by the title of the campaign, as the key reads it."""
    address = page.replace("/dashboard/", "/api/v1/campaigns")
    headers = {"Authorization": f"Bearer {key}"}
    found = httpx.get(address, headers=headers, verify=False, timeout=LONG).json()["items"]
    return {one["title"]: one["participants"] for one in found}


def is_gone(link):
    """Return whether nobody knows the link any more: another server may listen there by now."""
    try:
        return exchanged(link).status_code in (401, 404)
    except httpx.TransportError:
        return True


@pytest.mark.nightly
@pytest.mark.slow
def test_a_campaign_from_the_first_line_to_ctrl_c(start, tmp_path):
    demo = start("--stay", "--seed", "7")
    lines = demo.until("until Ctrl-C") + demo.until("qck_")
    links = [line for line in lines if "#c=" in line]
    guests = [line for line in lines if "#i=" in line]
    key, pages = lines[-1].strip(), [line for line in lines if line.endswith("/dashboard/")]
    assert max(len(line) for line in lines if line not in (*links, *guests)) <= 80
    assert (len(set(links)), len(set(guests))) == (2, 1)
    check_what_is_told("\n".join(lines))
    assert httpx.get(links[0].partition("#")[0], verify=False, timeout=LONG).status_code == 200
    read = reader_of(links[0])
    assert exchanged(links[0]).status_code == 401
    results = read().json()
    assert (results["participants"], len(results["truths"])) == (WORKERS, TASKS)
    assert httpx.get(guests[0].partition("#")[0], verify=False, timeout=LONG).status_code == 200
    Client(guests[0], folder=tmp_path / "guest").answer({"sleep": "yes"})
    assert in_time(lambda: senders(pages[0], key) == {"Which are true?": WORKERS, "Your day": 1})
    demo.tell("")
    another = demo.until("#c=")[-1].strip()
    assert another not in links
    assert exchanged(another).status_code == 201
    shutil.rmtree(tmp_path / "guest")
    assert list(tmp_path.iterdir()) != []
    demo.interrupt()
    status, _, errors = demo.finished()
    assert (status, errors) == (0, "")
    assert list(tmp_path.iterdir()) == []
    assert is_gone(links[1])


def check_what_is_told(text):
    """Check that truths are found, better than by chance, and that the loss is told.

    A constant guess gets half of 40 truths wrong, these methods about 7 %: that noise makes them
    as bad has a probability below 10^-9.
    """
    cells = dict(
        re.findall(r"^(noise-aware|majority vote|constant guess).*?([\d.]+) %", text, re.M)
    )
    wrong = {name: float(share) for name, share in cells.items()}
    assert wrong["noise-aware"] < wrong["constant guess"]
    assert wrong["majority vote"] < wrong["constant guess"]
    assert re.search(r"^answer( +(yes|no))+$", text, re.M)
    assert re.search(r"^report( +(yes|no))+$", text, re.M)
    assert re.search(r"^worker-?\w+ +\d+ +1 +\d+$", text, re.M)


@pytest.mark.nightly
def test_whoever_stops_it_halfway_finds_nothing_left(start, tmp_path):
    demo = start()
    link = demo.until("#c=")[-1].strip()
    demo.process.send_signal(signal.SIGTERM)
    status, _, errors = demo.finished()
    assert (status, errors) == (130, "quietcrowd: stopped\n")
    assert list(tmp_path.iterdir()) == []
    assert is_gone(link)


def test_every_worker_gets_the_own_answers():
    crowd = draw_crowd(3)
    own = own_answers(crowd)
    frame = crowd.answers.to_frame()
    assert len(own) == len(crowd.answers.workers)
    assert sum(map(len, own)) == len(frame)
    for worker in (0, 41, 79):
        rows = frame[frame["worker"] == worker]
        assert own[worker] == dict(zip(rows["task"], rows["label"], strict=True))


def test_the_crowd_knows_something_and_a_constant_guess_little():
    crowd = draw_crowd(7)
    real = true_labels(crowd)
    assert list(real) == crowd.answers.tasks.to_pylist()
    answers = [(real[task], label) for own in own_answers(crowd) for task, label in own.items()]
    right = sum(truth == label for truth, label in answers) / len(answers)
    assert right == pytest.approx(0.75, abs=0.05)
    assert 0.3 < sum(label == "yes" for label in real.values()) / len(real) < 0.7


def test_a_seed_is_a_crowd():
    assert own_answers(draw_crowd(1)) == own_answers(draw_crowd(1)) != own_answers(draw_crowd(2))
