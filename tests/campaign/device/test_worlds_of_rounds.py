"""Everything that leaves a device in a window of rounds, listed with its exact probability.

A real `Client` runs against a server in memory. Its slot, and the words of its noise, are picked in
turn, until each combination was played. Two worlds differ in the answers of one window: the largest
ratio of the probabilities of a transcript is the privacy loss. Devices and workers that break a
rule are convicted.
"""

import json
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from attrs import Factory, define
from tests.campaign.device.test_client_rounds import Clock
from tests.campaign.devices import NOWHERE, Fake
from tests.campaign.terms.test_rounds import rounds

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.campaign.device import folder, reading
from quietcrowd.campaign.device.reading import CampaignReading
from quietcrowd.campaign.store import choices
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.menu import Menu
from quietcrowd.exceptions import AnswerError, UnansweredError
from quietcrowd.mechanisms import Memo
from quietcrowd.mechanisms.randomness import Secret, words_in_turn
from quietcrowd.privacy.guarantee import add_losses
from quietcrowd.privacy.rounding import log_ratio_up

T, W = 3, 2
LABELS = ("no", "yes")
WORDS = (0, 2**32 - 1)
"""The smallest and the largest word become different reports."""

COIN = qc.RandomizedResponse(domain=qc.Categorical(LABELS), epsilon=1.0)
HALF = qc.RandomizedResponse(domain=qc.Categorical(LABELS), epsilon=0.5)
WEAK = qc.RandomizedResponse(domain=qc.Categorical(LABELS), epsilon=4.0)
SAID = {"cap": T, "count": T, "window": W, "step": W, "keep": T}
CROWD = Fake.of(COIN, tasks=1, drafts=True, rounds=rounds(**SAID))
BUDGET = Fake.of(HALF, tasks=1, drafts=True, rounds=rounds(**SAID, division="budget"))
MENU = Fake.of(
    Menu(mechanisms=(HALF, WEAK), shares=(0.5, 0.5)), tasks=1, drafts=True, rounds=rounds(**SAID)
)


@define
class Picks:
    """All ways to pick, one after the other: the last pick that can be another one changes."""

    taken: list = Factory(list)
    place: int = 0

    def pick(self, count):
        if self.place == len(self.taken):
            self.taken.append((0, count))
        self.place += 1
        return self.taken[self.place - 1][0]

    def turn(self):
        """Begin the next way; return whether there is one."""
        self.place = 0
        while self.taken and self.taken[-1][0] == self.taken[-1][1] - 1:
            self.taken.pop()
        if self.taken:
            self.taken[-1] = (self.taken[-1][0] + 1, self.taken[-1][1])
        return bool(self.taken)


ACTS = ("answer", "stay away", "answer twice", "send in the grace", "stay offline")


class Net(Fake):
    """A server whose network can fail; a link can replace another one `after` a round."""

    offline = False
    after = None

    def handle_request(self, request):
        if "/participants/" in request.url.path and self.after is not None:
            person = SimpleNamespace(after=self.after, slot=json.loads(request.read())["slot"])
            self.bound = {"rounds": choices.rounds_over(self.config, person)}
        answer = super().handle_request(request)
        if self.offline and request.method == "POST":
            raise httpx.ReadError("no network", request=request)
        return answer

    def replace(self, now):
        """Do what a server does with a link in place of another one."""
        campaign = SimpleNamespace(config=self.config)
        self.after = choices.over_before(campaign, self.after, now, None)["after"]

    @property
    def config(self):
        return canonical_json(self.public["config"]).decode()


@define
class Device:
    """A device in a campaign of `T` rounds; the worker answers where `takes_part` says so.

    In each of these rounds, one of `acts` happens, whatever is answered: all are listed. The worker
    goes on with another device and link after the `replaced` round.
    """

    server: Fake
    folder: object
    monkeypatch: object
    takes_part: object = lambda answers, number: True  # noqa: ARG005
    choice: object = None
    acts: tuple = ACTS[:1]
    replaced: int | None = None
    runs: int = 0
    laws: object = None

    def transcripts(self, answers):
        """Return the probability of each transcript."""
        picks, found = Picks(), {}
        while True:
            transcript, probability = self.run(answers, picks)
            found[transcript] = found.get(transcript, 0) + probability
            if not picks.turn():
                assert sum(found.values()) == 1
                return found

    def run(self, answers, picks):
        self.runs += 1
        drawn, chances, clock = {}, [], Clock()

        def draw_slot(slots):
            chances.append(Fraction(1, slots))
            return picks.pick(slots)

        def give(secret, label, size):
            key = (bytes(secret.key), label)
            if key not in drawn:
                drawn[key] = picks.pick(len(WORDS)), rounds().at(clock.now)
            return WORDS[drawn[key][0]].to_bytes(4, "little")[:size]

        self.monkeypatch.setattr("quietcrowd.campaign.device.folder.draw_slot", draw_slot)
        self.monkeypatch.setattr(Secret, "give", give)
        server = Net(public=self.server.public, tasks=self.server.tasks)
        given = {"folder": self.folder / str(self.runs), "transport": server, "clock": clock}
        seen, channel, waits = [], None, None
        for number in range(T + 1):
            clock.enter(number)
            if waits is not None:
                waits.resume()
                waits = None
            if number < T:
                client = self.joined(given, answers)
                channel = client.terms.mechanism.channel
                if client.round is not None and self.takes_part(answers, number):
                    act = picks.pick(len(self.acts))
                    chances.append(Fraction(1, len(self.acts)))
                    waits = self.act(self.acts[act], client, server, answers[number])
            seen += [(number, *shape(one)) for one in server.requests]
            server.requests.clear()
            if number == self.replaced:
                server.replace(clock.now)
                given["folder"] = self.folder / f"{self.runs}, replaced"
        for place, number in drawn.values():
            chances.append(chance_of(channel, answers[number], WORDS[place]))
        probability = Fraction(1)
        for chance in chances:
            probability *= chance
        return tuple(seen), probability

    def joined(self, given, answers):
        client = Client(NOWHERE, patience=0, **given)
        if self.choice is not None and not client.joined:
            client.choose(self.choice(answers))
        client.join()
        return client

    def act(self, act, client, server, answer):
        """Do what happens in a round; return the device if it has reports to send later."""
        server.offline = act in ("send in the grace", "stay offline")
        if act == "stay away":
            return None
        if server.offline:
            with pytest.raises(UnansweredError):
                client.answer({"t0": LABELS[answer]})
        else:
            client.answer({"t0": LABELS[answer]})
        server.offline = False
        if act == "answer twice":
            with pytest.raises(AnswerError):
                client.answer({"t0": LABELS[1 - answer]})
        return client if act == "send in the grace" else None

    def largest_ratio(self, window):
        """Return the largest ratio of worlds that differ in a window of rounds."""
        law = self.laws = self.laws or cache(self.transcripts)
        ratio = Fraction(1)
        for one in product((0, 1), repeat=T):
            for start in range(T - window + 1):
                for inside in product((0, 1), repeat=window):
                    other = one[:start] + inside + one[start + window :]
                    for transcript in {*law(one), *law(other)}:
                        here, there = (law(each).get(transcript, 0) for each in (one, other))
                        if not here or not there:
                            return inf
                        ratio = max(ratio, here / there)
        return ratio


@cache
def chance_of(channel, answer, word):
    """Return the probability of all words that make the same report of an answer as this one."""
    words = words_in_turn(np.array([word], np.uint32))
    [report] = channel.sample(np.array([answer]), words)
    weights = channel.weights[answer].tolist()
    return Fraction(weights[int(report)], sum(weights))


def shape(request):
    """Return what anyone can see of a request, without random ids."""
    path = request.url.path.partition("/participants/")[0]
    body = json.loads(request.content) if request.content else {}
    for item in body.get("reports", []):
        del item["report_id"]
    return request.method, path, json.dumps(body, sort_keys=True)


@pytest.fixture
def device(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)
    return lambda server, **given: Device(server, tmp_path, monkeypatch, **given)


def odds(mechanism):
    """Return the ratio of the probabilities of one report, the most that it reveals."""
    kept, other = sorted(map(int, mechanism.channel.weights[0]), reverse=True)
    return Fraction(kept, other)


def stated(server):
    return server.public["config"]["losses"]


@pytest.mark.slow
def test_a_kept_slot_loses_what_is_stated(device):
    one = device(CROWD)
    window, everything = one.largest_ratio(W), one.largest_ratio(T)
    assert (window, everything) == (odds(COIN), odds(COIN) ** 2)
    assert log_ratio_up(window) == stated(CROWD)["window"] == stated(CROWD)["round"]
    assert stated(CROWD)["campaign"] == add_losses(log_ratio_up(window), 2)
    assert one.runs == 8 * (4 + 2), "slot 0 has two rounds of two reports, slot 1 one"


@pytest.mark.nightly
def test_whatever_else_happens_in_a_round_loses_no_more(device):
    """Each act in each round, and each report of it: 90 ways for each of eight answers."""
    one = device(CROWD, acts=ACTS)
    assert (one.largest_ratio(W), one.largest_ratio(T)) == (odds(COIN), odds(COIN) ** 2)
    assert one.runs == 8 * (9 * 9 + 9)


@pytest.mark.nightly
@pytest.mark.parametrize("replaced", range(T))
def test_a_replaced_link_loses_no_more(device, replaced):
    one = device(CROWD, replaced=replaced)
    assert one.largest_ratio(W) == odds(COIN)
    assert one.largest_ratio(T) == odds(COIN) ** (2 if replaced != 1 else 1)


@pytest.mark.nightly
def test_a_replaced_link_that_begins_at_once_is_convicted(device, monkeypatch):
    monkeypatch.setattr(
        choices,
        "over_before",
        lambda campaign, earlier, now, latest: {"after": rounds().at(now)},  # noqa: ARG005
    )
    assert device(CROWD, replaced=0).largest_ratio(W) == odds(COIN) ** 2


@pytest.mark.nightly
def test_a_divided_budget_loses_what_is_stated(device):
    one = device(BUDGET)
    assert one.largest_ratio(W) == odds(HALF) ** W
    assert stated(BUDGET)["window"] == add_losses(log_ratio_up(odds(HALF)), W)
    assert stated(BUDGET)["campaign"] == add_losses(log_ratio_up(odds(HALF)), T)


@pytest.mark.slow
def test_one_report_for_all_rounds_loses_one(device, monkeypatch):
    """Sound, but day 2 gets day 1's report: the question hash names the round against this."""
    real = reading.TaskQuestions
    monkeypatch.setattr(reading, "TaskQuestions", lambda occasion, **given: real(**given))  # noqa: ARG005
    assert device(CROWD).largest_ratio(T) == odds(COIN)


@pytest.mark.nightly
def test_a_new_slot_in_each_block_is_convicted(device, monkeypatch):
    slots = {}

    def present(read):
        number = read.terms.rounds.at(read.now)
        key = (read.folder.path, number // W)
        if key not in slots:
            slots[key] = folder.draw_slot(W)
        return number if number % W == slots[key] else None

    monkeypatch.setattr(CampaignReading, "round", property(present))
    assert device(CROWD).largest_ratio(W) == odds(COIN) ** 2


@pytest.mark.slow
def test_a_memo_per_value_is_convicted(device, monkeypatch):
    def open_memo(read, member):
        return Memo.open(
            read.folder.memo,
            mechanism=read.questions.randomizer,
            tasks=[task.name for task in read.questions.tasks],
            campaign=read.terms.campaign,
            worker=member.participant,
        )

    monkeypatch.setattr(CampaignReading, "open_memo", open_memo)
    assert device(CROWD).largest_ratio(T) == inf


@pytest.mark.slow
def test_staying_away_by_answer_is_convicted(device):
    one = device(CROWD, takes_part=lambda answers, number: answers[number] == 0)
    assert one.largest_ratio(W) == inf


@pytest.mark.slow
def test_a_choice_by_answer_is_convicted(device):
    assert device(MENU, choice=lambda answers: answers[0]).largest_ratio(W) == inf


@pytest.mark.nightly
def test_a_choice_before_the_questions_loses_what_is_stated(device):
    one = device(MENU, choice=lambda answers: 1)  # noqa: ARG005
    assert one.largest_ratio(W) == odds(WEAK)
