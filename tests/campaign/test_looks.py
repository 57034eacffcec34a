"""What a requester sees changes with releases, and with nothing else that workers do.

Any order of joins, sends, withdrawals and the closing is played against a server, with a look at
every route of a requester after each. A model beside it says when there is a release. The requester
acts as well: leaves workers out of results, takes them back in, erases them, and revokes invites;
workers in whatever state, and nobody. That changes the list of who is left out, as the requester
wrote it, and nothing else before the next release.
"""

import json
import random
import re

import httpx
import pytest
from attrs import Factory, define
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.campaign.people import Desk, Running, Worker, check_problem, new_desk
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.terms.tokens import new_token

TASKS = 2
MOST = 4
"""Participants: few, so that the campaign is full in many examples."""

NOBODY = "worker-0123456789abcdef"
OWN_ACTS = ("exclude", "include", "erase", "revoke")
ACTS = ("join", "join", "send", "send", "send", "send", "withdraw", *OWN_ACTS, "close")
SEEN = (
    "",
    "/excluded",
    "/tasks",
    "/invites",
    "/funnel",
    "/results",
    "/results/head",
    "/results/truths",
    "/results/workers",
    "/estimates",
    "/reports",
    "/reports?format=csv",
    "/reports?format=mechanism",
    "/truths",
    "/truths?format=csv&questions=true",
    "/truths?format=label-studio",
    "/shares",
)
BY_A_LINK = ("", "/tasks", "/funnel", "/estimates", "/results", "/truths", "/shares")


@define
class Crowd:
    """A campaign, its workers, and what a requester may know of them."""

    desk: Desk
    campaign: str
    least: int
    inferrer: Inferrer
    invites: list[str]
    reader: httpx.Client
    joined: list[Worker] = Factory(list)
    waiting: list[Worker] = Factory(list)
    shown: list[Worker] = Factory(list)
    names: dict[str, str] = Factory(dict)
    used: list[str] = Factory(list)
    wanted: set[str] = Factory(set)
    in_force: set[str] = Factory(set)
    told: tuple[int, int] = (0, 0)
    sizes: dict[str, int] = Factory(dict)
    closed: bool = False

    def act(self, what: str, pick: random.Random) -> bool:
        """Do it; return whether it is a release."""
        if what == "close":
            return self.close()
        if what in OWN_ACTS:
            return self.control(what, pick)
        if what == "join":
            workers = [self.desk.guest(self.campaign) for _ in range(pick.randint(1, 3))]
            *_, answer = [self.desk.join(one, self.invites[-1]) for one in workers]
            if self.told[0] >= MOST:
                check_problem(answer, 409, "full")
            else:
                assert answer.status_code == 201
                worker = pick.choice(workers)  # the others only have the link, too
                if pick.randint(0, 1):
                    self.invites.pop()  # reserved, and never more than that
                    return False
                worker.place().raise_for_status()
                self.joined.append(worker)
                self.used.append(self.invites.pop())
                self.names[worker.id] = worker.client.get("/me").json()["pseudonym"]
            return False
        if what == "send":
            return self.send(pick)
        return self.withdraw(pick)

    def send(self, pick: random.Random) -> bool:
        if not self.joined:
            return False
        worker = self.joined.pop(pick.randrange(len(self.joined)))
        tasks = worker.tasks()[: pick.randint(1, TASKS)]
        reports = [worker.report(task["task_id"], pick.randint(0, 1)) for task in tasks]
        assert worker.send(*reports).raise_for_status().json()["accepted"] == len(reports)
        assert worker.send(*reports).raise_for_status().json()["duplicates"] == len(reports)
        self.sizes[worker.id] = len(reports)
        self.waiting.append(worker)
        if len(self.waiting) < self.least:
            return False
        self.shown += self.waiting
        self.waiting.clear()
        self.tell()
        return True

    def control(self, what: str, pick: random.Random) -> bool:
        """Do something that the requester does; all that could be told is in the answer."""
        client, url = self.desk.client, f"/campaigns/{self.campaign}"
        if what == "revoke":
            some = [new_token("qci_"), *self.used, *self.invites[:-10]]
            answer = client.post(f"{url}/invites/revoke", json={"invite": pick.choice(some)})
            assert what_is_answered(answer) == (204, b"")
            return False
        name = pick.choice([*self.names.values(), NOBODY])
        if what == "erase":
            answer = client.delete(f"{url}/workers/{name}")
        elif what == "exclude":
            answer = client.put(f"{url}/excluded/{name}")
            self.wanted.add(name)
        else:
            answer = client.delete(f"{url}/excluded/{name}")
            self.wanted.discard(name)
        assert what_is_answered(answer) == (204, b"")
        if what == "erase":
            return self.gone([one for one in self.all if self.names[one.id] == name])
        if self.closed:
            self.tell()
        return self.closed

    @property
    def all(self) -> list[Worker]:
        return [*self.joined, *self.waiting, *self.shown]

    def withdraw(self, pick: random.Random) -> bool:
        if not self.all:
            return False
        worker = pick.choice(self.all)
        assert worker.client.delete("/me").status_code == 204
        return self.gone([worker])

    def gone(self, who: list[Worker]) -> bool:
        """Take a worker who has left, if there is one, out of the model."""
        if not who:
            return False
        [worker] = who
        for group in (self.joined, self.waiting):
            if worker in group:
                group.remove(worker)
        check_problem(worker.client.get("/me/reports"), 401, "credential")
        if worker not in self.shown:
            return False
        self.shown.remove(worker)
        if self.closed:
            self.tell()
        return self.closed

    def close(self) -> bool:
        self.desk.client.post(f"/campaigns/{self.campaign}/close").raise_for_status()
        self.closed = True
        self.tell()
        return True

    def tell(self) -> None:
        self.told = (len(self.shown), sum(self.sizes[one.id] for one in self.shown))
        names = {self.names[one.id] for one in self.shown}
        self.wanted -= self.in_force - names  # who was left out, and has left since
        self.in_force = self.wanted & names

    @property
    def left_out(self) -> dict[str, str]:
        """What the list of who is left out has to say."""
        states = {(True, True): "excluded", (True, False): "to-be-excluded"}
        return {
            name: states.get((name in self.wanted, name in self.in_force), "to-be-included")
            for name in self.wanted | self.in_force
        }

    def look(self) -> dict[str, tuple]:
        """Return all that the requester is answered; an inference is asked for, and made."""
        client, url = self.desk.client, f"/campaigns/{self.campaign}"
        client.post(f"{url}/inferences").raise_for_status()
        self.inferrer.infer(bytes.fromhex(self.campaign))
        answers = {path: client.get(f"{url}{path}") for path in SEEN}
        answers |= {f"by a link: {path}": self.reader.get(f"{url}{path}") for path in BY_A_LINK}
        answers["list"] = client.get("/campaigns")
        answers["public"] = client.get(f"/public{url}")
        answers["full"] = self.desk.join(self.desk.guest(self.campaign), "qci_none")
        return {path: what_is_seen(answer) for path, answer in answers.items()}


def what_is_answered(answer) -> tuple:
    return answer.status_code, answer.content


def what_is_seen(answer) -> tuple:
    """Return an answer to the last byte, but for the time of day."""
    headers = sorted(pair for pair in answer.headers.items() if pair[0] != "date")
    return answer.status_code, headers, answer.content


def crowd_of(server: Running, least: int) -> Crowd:
    desk = new_desk(server)
    method = qc.MajorityVote().to_dict()
    campaign = desk.campaign(tasks=TASKS, at_least=least, method=method, max_participants=MOST)
    invites = desk.invite(campaign, 100)
    reader = server.client(desk.token(campaign))
    return Crowd(desk, campaign, least, Inferrer(server.database), invites, reader)


def check_counts(crowd: Crowd, seen: dict[str, tuple]) -> None:
    """Check that what is seen is what the model says, of every worker who is shown and no other."""
    document = json.loads(seen[""][2])
    assert (document["participants"], document["reports"]) == crowd.told
    assert json.loads(seen["/invites"][2])["used"] == crowd.told[0]
    by_link = [seen[f"by a link: {path}"] for path in BY_A_LINK]
    assert [answer[0] for answer in by_link] == [seen[path][0] for path in BY_A_LINK]
    assert not any(re.search(rb"worker-[0-9a-f]{16}", answer[2]) for answer in by_link)
    listed = {one["worker"]: one["state"] for one in json.loads(seen["/excluded"][2])["items"]}
    assert listed == crowd.left_out
    if crowd.told[0] and crowd.closed:
        found = json.loads(seen["/results"][2])
        names = {worker["worker"] for worker in found["workers"]}
        rows = seen["/reports"][2].decode().splitlines()[1:]
        shown = {crowd.names[one.id] for one in crowd.shown}
        assert names == shown - crowd.in_force
        assert set(found["excluded"]) == crowd.in_force
        assert shown == {json.loads(row)["worker"] for row in rows}
        assert len(rows) == crowd.told[1]
    elif crowd.told[0]:
        assert seen["/reports"][0] == 409
    else:
        assert seen["/results"][0] == 409


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "least", "acts"),
    [
        nightly(0, 2, ["join", "join", "join", "send", "send", "withdraw", "send"]),
        (1, 3, ["join", "send"] * 4 + ["withdraw", "close", "withdraw"]),
        nightly(2, 2, ["join", "send"] * 4 + ["exclude", "withdraw"] * 3 + ["close"]),
        (3, 2, ["join", "send", "exclude", "erase"] * 2 + ["include", "close"]),
        nightly(3, 2, ["join", "send", "exclude", "erase"] * 4 + ["include", "close"]),
    ],
)
def test_only_releases_change_what_a_requester_sees(server, seed, least, acts):
    """Acts that hold what is rare where they are drawn; by day those that close the campaign."""
    play_all(server, least, acts, random.Random(seed))


@pytest.mark.slow
@pytest.mark.parametrize("examples", [2, nightly(6)])
def test_so_it_is_in_any_order(server, examples):
    @settings(max_examples=examples, deadline=None)
    @given(st.integers(2, 3), st.lists(st.sampled_from(ACTS), max_size=20), st.randoms())
    def check(least, acts, pick):
        play_all(server, least, acts, pick)

    check()


def play_all(server: Running, least: int, acts: list[str], pick: random.Random) -> None:
    """Play acts in a new campaign: up to its closing, and then some of them once more."""
    crowd = crowd_of(server, least)
    play(crowd, [act for act in acts if act != "close"], pick)
    if "close" in acts:
        own = [act for act in acts if act in OWN_ACTS]
        play(crowd, ["close", *(["withdraw"] * acts.count("close")), *own], pick)


def play(crowd: Crowd, acts: list[str], pick: random.Random) -> None:
    """Play acts, and look after each."""
    before = crowd.look()
    for act in acts:
        shown = {one.id for one in crowd.shown}
        released = crowd.act(act, pick)
        seen = crowd.look()
        if released:
            new = {one.id for one in crowd.shown} - shown
            assert len(new) >= crowd.least or crowd.closed
            assert not (new and crowd.closed)
        else:
            changed = {path for path in seen if seen[path] != before[path]}
            assert changed <= ({"/excluded"} if act in ("exclude", "include") else set())
        check_counts(crowd, seen)
        before = seen
