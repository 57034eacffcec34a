import asyncio
import sys
from functools import partial

import pytest
from tests.campaign.waiting import LONG, come_true

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.jobs import plans
from quietcrowd.campaign.server.jobs.plans import PlanJobs

pytestmark = pytest.mark.slow

PROCESS = """
import json, sys, threading
from pathlib import Path
for line in sys.stdin:
    order = json.loads(line)
    if order["endless"] is not None:
        Path(order["endless"]).touch()
        threading.Event().wait()
    print(json.dumps(order["answer"]), flush=True)
"""
"""Stands for the one that plans: it takes for ever if it is told, and answers what it is told."""

PLAN = {"plan": {"rows": []}}


@pytest.fixture
def jobs(monkeypatch):
    """Return a way to begin; what is begun ends."""
    monkeypatch.setattr(plans, "_COMMAND", (sys.executable, "-c", PROCESS))
    begun = []

    def begin(longest=LONG):
        begun.append(PlanJobs(longest=longest))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


async def stay():
    await asyncio.Event().wait()


def order(endless=None, answer=PLAN):
    """Return an order; an endless one makes a file once it is worked on."""
    return {"endless": None if endless is None else str(endless), "answer": answer}


def problem(caught):
    return caught.value.name


def test_plans_come_from_one_process_and_mistakes_say_where(jobs):
    made = jobs()

    async def play():
        assert await made.make(b"one", order(), stay) == PLAN["plan"]
        first = made._process
        refused = order(answer={"refused": ["/tasks", "tasks must be at least 1; got 0"]})
        with pytest.raises(ProblemError) as caught:
            await made.make(b"one", refused, stay)
        [error] = caught.value.errors
        assert (error.pointer, error.message) == ("/tasks", "tasks must be at least 1; got 0")
        assert made._process is first
        with pytest.raises(ProblemError) as caught:
            await made.make(b"one", order(answer={"failed": "ValueError"}), stay)
        assert problem(caught) == "internal"
        assert await made.make(b"one", order(), stay) == PLAN["plan"]
        assert made._process is not first

    asyncio.run(play())


def test_a_requester_has_one_made_at_a_time_and_others_follow(jobs):
    made = jobs()

    async def play():
        first = asyncio.ensure_future(made.make(b"one", order(), stay))
        await asyncio.sleep(0)
        with pytest.raises(ProblemError) as caught:
            await made.make(b"one", order(), stay)
        assert problem(caught) == "too-many-requests"
        assert await made.make(b"two", order(), stay) == PLAN["plan"]
        assert first.done()
        assert await first == PLAN["plan"]

    asyncio.run(play())


@pytest.mark.nightly
def test_what_takes_too_long_is_ended_and_the_next_one_is_made(jobs, tmp_path):
    made = jobs(longest=1.0)

    async def play():
        with pytest.raises(ProblemError) as caught:
            await made.make(b"one", order(tmp_path / "begun"), stay)
        assert problem(caught) == "plan-too-long"
        assert "after 1 seconds" in caught.value.detail
        made.longest = LONG
        assert await made.make(b"one", order(), stay) == PLAN["plan"]

    asyncio.run(play())


def test_who_leaves_ends_the_plan(jobs, tmp_path):
    made = jobs()
    begun = [tmp_path / "first", tmp_path / "second"]

    async def play():
        with pytest.raises(ProblemError):
            await made.make(b"one", order(begun[0]), partial(come_true, begun[0].exists))
        waiting = asyncio.ensure_future(made.make(b"one", order(begun[1]), stay))
        await come_true(begun[1].exists)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await made.make(b"one", order(), stay) == PLAN["plan"]

    asyncio.run(play())


def test_who_waits_too_long_for_others_is_told(jobs, tmp_path):
    made, begun = jobs(), tmp_path / "begun"

    async def play():
        first = asyncio.ensure_future(made.make(b"one", order(begun), stay))
        await come_true(begun.exists)
        made.longest = 0.2
        with pytest.raises(ProblemError) as caught:
            await made.make(b"two", order(), stay)
        assert problem(caught) == "busy"
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(play())
