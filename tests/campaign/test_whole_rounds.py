"""A whole campaign of rounds with a menu: devices, a server that starts anew, and its results."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from tests.campaign.clocks import ROUNDS, Clock
from tests.campaign.crowd_in_rounds import PageWorker, Play, PythonDevice
from tests.campaign.people import Running
from tests.campaign.web.browser import chromium

from quietcrowd.campaign.server.settings import Settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning"),
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def play(tmp_path):
    """Return a way to begin a campaign at a server with a clock."""
    began = []

    def begin(rounds, tasks, at_least):
        clock = Clock()
        unlimited = {"requests_per_second": 0, "joins_per_minute": 0, "infer": False}
        database = f"sqlite:///{tmp_path}/quietcrowd.db"
        running = Running(Settings(database=database, **unlimited), clock=clock).start()
        rng = np.random.default_rng(46)
        one = Play(running, clock, tmp_path, rng, {**ROUNDS, **rounds}, tasks, at_least)
        one.open()
        began.append(one)
        return one

    yield begin
    for one in began:
        one.running.stop()
        one.network.close()


def run(one, rounds, leaving, infer_every, restart):
    """Play all rounds; return how often people did what."""
    done, late = Counter(), []
    one.clock.to(0)
    for number in range(rounds):
        for device in late:
            assert not device.resume()
        if number == restart:
            one.running.stop()
            one.running.start()
        found, late = one.act(number, leaving)
        done += found
        one.end(number)
        if number % infer_every == infer_every - 1:
            one.infer()
    one.infer()
    return done


@pytest.mark.grid
def test_a_campaign_of_rounds(play, browser):
    rounds = {"count": 8, "window": 2, "step": 2, "keep": 3}
    one = play(rounds, tasks=5, at_least=3)
    one.add(PythonDevice, [0, 1] * 8)
    one.add(partial(PageWorker, browser), [0, 1])
    done = run(one, 8, 0.03, 4, restart=5)
    assert one.read("")["state"] == "closed"
    assert one.check_losses() == sum(done[name] for name in ("sent", "sent later", "never sent"))
    assert [row["round"] for row in one.read("/rounds")["items"]][-3:] == one.shown[-3:]
    one.check_results()


@pytest.mark.nightly
def test_a_campaign_of_thirty_rounds_with_two_hundred_devices(play, browser):
    rounds = {"count": 30, "window": 7, "step": 7, "keep": 14}
    one = play(rounds, tasks=12, at_least=5)
    one.add(PythonDevice, [0] * 133 + [1] * 57)
    one.add(partial(PageWorker, browser), [0] * 7 + [1] * 3)
    done = run(one, 30, 0.002, 7, restart=17)
    assert one.shown == list(range(30))
    assert done["never sent"] > 20
    assert done["left"] > 2
    assert one.check_losses() == sum(done[name] for name in ("sent", "sent later", "never sent"))
    assert len(one.read("/series", task="t3")["items"]) == 30
    one.check_results()
