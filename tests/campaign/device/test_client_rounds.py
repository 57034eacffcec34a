"""A device in campaigns with a menu or rounds."""

import json

import httpx
import pytest
from attrs import define
from tests.campaign.devices import NOWHERE, Fake
from tests.campaign.mechanisms import LABELS, MECHANISMS
from tests.campaign.terms.test_rounds import rounds

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.campaign.device.records import read_record
from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.campaign.terms.menu import Menu
from quietcrowd.exceptions import AnswerError, CampaignError, ParameterError, UnansweredError

STRONG, WEAK = (qc.RandomizedResponse(domain=LABELS, epsilon=epsilon) for epsilon in (0.5, 4.0))
MENU = Menu(mechanisms=(STRONG, WEAK), shares=(0.7, 0.3))
LATEST = {"drafts": True}
ANSWERS = {"t0": "yes", "t1": "no"}
SLOT = 2
DAYS = rounds()


@define
class Clock:
    now: float = DAYS.begin(0)

    def __call__(self):
        return self.now

    def enter(self, number):
        self.now = DAYS.begin(number) + 60


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.device.folder.draw_slot", lambda _: SLOT)
    return Clock()


def in_rounds(**changed):
    return Fake.of(STRONG, answers=2, rounds=rounds(**changed), **LATEST)


def device(folder, fake, clock, **given):
    return Client(NOWHERE, folder=folder, transport=fake, clock=clock, patience=0, **given)


def posted(fake):
    return [json.loads(body) for body in fake.posted]


def test_a_device_answers_the_rounds_of_its_slot_and_pays_for_each(tmp_path, clock):
    fake = in_rounds()
    client = device(tmp_path, fake, clock)
    client.join()
    joined = next(one for one in fake.requests if "/participants/" in one.url.path)
    assert json.loads(joined.content)["slot"] == SLOT
    answered = []
    for number in range(30):
        clock.enter(number)
        client = device(tmp_path, fake, clock)
        assert client.next_round == next((t for t in range(number, 30) if t % 7 == SLOT), None)
        if client.round is None:
            with pytest.raises(AnswerError, match="not one of your rounds"):
                client.answer(ANSWERS)
            continue
        client.answer(ANSWERS)
        answered.append(number)
        with pytest.raises(AnswerError, match=r"not one of your rounds|answered the campaign"):
            client.answer(ANSWERS)
        assert client.spent_in_window() == client.guarantee.total_epsilon
    assert answered == [2, 9, 16, 23]
    assert [body["round"] for body in posted(fake)] == answered
    charges = {one.campaign: one.count for one in client._ledger.read().charges}
    assert charges == {f"{NOWHERE}#{number}": 2 for number in answered}
    assert client.spent().total_epsilon == pytest.approx(4 * client.terms.losses.round)
    assert client.spent_in_window(30) == client.spent().total_epsilon


def test_an_hour_of_720_charges_one_round(tmp_path, clock):
    fake = in_rounds(length=3_600, count=720, cap=720, window=24, step=25, grace=600)
    client = device(tmp_path, fake, clock)
    client.join()
    clock.now = client.terms.rounds.begin(27)
    client.answer(ANSWERS)
    assert client.spent().total_epsilon == client.guarantee.total_epsilon
    assert client.terms.losses.campaign == pytest.approx(29 * client.terms.losses.round)


def test_each_round_has_fresh_noise_and_questions(tmp_path, clock):
    fake = in_rounds(division="budget")
    client = device(tmp_path, fake, clock)
    keys, questions = [], []
    for number in range(3):
        clock.enter(number)
        client.join()
        keys.append(json.loads(client._read.place.memo.read_bytes())["key"])
        assert not client.reused
        assert not client.repeated
        client.answer(ANSWERS)
        questions += read_record(client._read.place.path).reports
        assert not client._read.place.memo.exists()
    assert len(set(keys)) == 3
    assert len(set(questions)) == 6
    assert not any("again" in item for body in posted(fake) for item in body["reports"])
    assert "slot" not in fake.bound


def test_a_missed_round_leaves_no_noise(tmp_path, clock):
    client = device(tmp_path, in_rounds(division="budget"), clock)
    client.join()
    missed = client._read.place.memo
    assert missed.exists()
    clock.enter(1)
    client.join()
    assert not missed.exists()
    assert client._read.place.memo.exists()


def test_another_link_in_the_same_round_gets_noise_of_its_own(tmp_path, clock):
    fake = in_rounds(division="budget")
    device(tmp_path, fake, clock, invite="qci_" + 43 * "a").join()
    client = device(tmp_path, fake, clock, invite="qci_" + 43 * "b")
    client.join()
    assert client.answer(ANSWERS).accepted == 2


class Cut(Fake):
    offline = False

    def handle_request(self, request):
        if self.offline and request.method == "POST":
            raise httpx.ReadError("no network", request=request)
        return super().handle_request(request)


def test_late_reports_are_never_sent_and_stay_charged(tmp_path, clock):
    fake = Cut.of(STRONG, answers=2, rounds=rounds(division="budget"), **LATEST)
    client = device(tmp_path, fake, clock)
    client.join()
    fake.offline = True
    for number in (0, 1):
        clock.enter(number)
        with pytest.raises(UnansweredError):
            client.answer(ANSWERS)
    fake.offline = False
    clock.now = DAYS.end(0) + DAYS.grace + 1
    assert client.resume().accepted == 2
    assert [body["round"] for body in posted(fake)] == [1]
    assert client.spent().total_epsilon == pytest.approx(2 * client.terms.losses.round)
    fake.offline = True
    clock.enter(2)
    with pytest.raises(UnansweredError):
        client.answer(ANSWERS)
    clock.now = DAYS.end(2) + DAYS.grace + 1
    fake.offline = False
    with pytest.raises(AnswerError, match="never sent, and stay charged"):
        client.resume()
    assert len(fake.posted) == 1


def test_reports_of_a_round_are_sent_in_its_grace(tmp_path, clock):
    fake = Cut.of(STRONG, answers=2, rounds=rounds(), **LATEST)
    client = device(tmp_path, fake, clock)
    client.join()
    clock.enter(SLOT)
    fake.offline = True
    with pytest.raises(UnansweredError):
        client.answer(ANSWERS)
    clock.now = DAYS.end(SLOT) + DAYS.grace
    fake.offline = False
    assert device(tmp_path, fake, clock).resume().accepted == 2


def test_the_server_holds_what_was_sent_in_the_last_rounds(tmp_path, clock):
    fake = in_rounds(division="budget", keep=2)
    client = device(tmp_path, fake, clock)
    for number in range(4):
        clock.enter(number)
        client.answer(ANSWERS)
    sent = [{"round": one["round"], **item} for one in posted(fake) for item in one["reports"]]
    for held, missing in ((sent, 0), (sent[2:], 0), (sent[4:], 2)):
        fake.held = held
        assert (client.stored().missing, client.stored().strange) == (missing, 0)
    fake.held = [*sent, {**sent[-1], "round": 2}]
    assert client.stored().strange == 1


def test_the_budget_counts_for_each_round(tmp_path, clock):
    client = device(tmp_path, in_rounds(division="budget"), clock, budget=2.5)
    for number in range(2):
        clock.enter(number)
        client.answer(ANSWERS)
    clock.enter(2)
    assert client.affordable() == 1
    with pytest.raises(ParameterError, match="budget"):
        client.answer(ANSWERS)
    assert client.used_after() == pytest.approx(30, rel=1e-6)


def test_all_rounds_are_withdrawn(tmp_path, clock):
    fake = in_rounds(division="budget")
    client = device(tmp_path, fake, clock)
    for number in range(2):
        clock.enter(number)
        client.answer(ANSWERS)
    client.withdraw()
    kept = sorted(path.name for path in client._folder.path.rglob("*") if path.is_file())
    assert kept == ["lock", *["questions.json"] * 2, *["withdrawn"] * 3]
    clock.enter(2)
    with pytest.raises(CampaignError, match="withdrawn"):
        client.answer(ANSWERS)
    assert client.spent().total_epsilon == pytest.approx(2, rel=1e-6)


def test_a_device_without_its_files_does_not_answer_again(tmp_path, clock):
    fake = in_rounds()
    client = device(tmp_path, fake, clock)
    clock.enter(SLOT)
    client.answer(ANSWERS)
    (client._read.place.path / "upload.json").unlink()
    clock.enter(9)
    with pytest.raises(CampaignError, match="files are missing"):
        client.answer(ANSWERS)


def test_rounds_are_over_for_who_replaces_another(tmp_path, clock):
    fake = in_rounds()
    fake.bound = {"rounds": [SLOT]}
    client = device(tmp_path, fake, clock)
    clock.enter(SLOT)
    client.join()
    assert client.round is None
    assert client.next_round == SLOT + 7
    clock.enter(SLOT + 7)
    assert client.answer(ANSWERS).accepted == 2


@pytest.mark.parametrize(
    "bound", [{"slot": 3}, {"slot": 7}, {"slot": None}, {"slot": True}, {"rounds": ["1"]}]
)
def test_no_server_sets_the_slot(tmp_path, monkeypatch, bound):
    """Who knows in which rounds a person answers knows which pseudonyms are possible."""
    monkeypatch.setattr("quietcrowd.campaign.device.folder.draw_slot", lambda _: 1)
    fake = in_rounds()
    fake.bound = bound
    client = device(tmp_path, fake, Clock())
    with pytest.raises(CampaignError, match="no valid choice, or another slot"):
        client.join()
    assert not client.joined


def test_a_slot_stays(tmp_path, clock):
    fake = in_rounds()
    client = device(tmp_path, fake, clock)
    client.join()
    fake.bound = {"slot": 3}
    with pytest.raises(CampaignError, match="another slot than this device sampled"):
        client.join()


def test_a_worker_chooses_before_joining(tmp_path):
    fake = Fake.of(MENU, **LATEST)
    client = Client(NOWHERE, folder=tmp_path, transport=fake)
    assert [one.mechanism for one in client.menu] == [STRONG, WEAK]
    assert [one.share for one in client.menu] == [0.7, 0.3]
    for ask in (lambda: client.terms, client.join, lambda: client.answer(ANSWERS)):
        with pytest.raises(CampaignError, match="2 choices of protection"):
            ask()
    with pytest.raises(ParameterError):
        client.choose(2)
    client.choose(1)
    assert "Your choice" not in client.consent[0]
    client.answer({**ANSWERS, "t2": "yes"})
    assert json.loads(fake.requests[1].content)["choice"] == 1
    [charge] = client._ledger.read().charges
    assert (charge.mechanism, charge.count) == (WEAK, 3)
    later = Client(NOWHERE, folder=tmp_path, transport=fake)
    assert later.terms.mechanism == WEAK
    with pytest.raises(CampaignError, match="belongs to choice 1"):
        later.choose(0)
    paths = [one.url.path.rpartition("/")[2] for one in fake.requests]
    assert paths.index("tasks") > 1, "no task is read before the choice is sent"


def test_a_binding_choice_needs_consent(tmp_path):
    """Another device with this invite chose less protection: nothing is answered unasked."""
    fake = Fake.of(MENU, **LATEST)
    fake.bound = {"choice": 1}
    client = Client(NOWHERE, folder=tmp_path, transport=fake)
    client.choose(0)
    for _ in range(2):
        with pytest.raises(CampaignError, match="belongs to choice 1"):
            client.answer(ANSWERS)
    with pytest.raises(CampaignError, match="choices"):
        Client(NOWHERE, folder=tmp_path, transport=fake).answer(ANSWERS)
    assert not client.joined
    assert not fake.posted
    client.choose(1)
    assert client.answer(ANSWERS).accepted == 2
    assert len({one.url.path for one in fake.requests if "/participants/" in one.url.path}) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda menu: menu["entries"].reverse(),
        lambda menu: menu["entries"].pop(),
        lambda menu: menu["entries"][0].pop("summary"),
        lambda menu: menu["entries"][0].update(tasks=3),
        lambda menu: menu["entries"][1]["guarantee"].update(worker_epsilon=0.1),
        lambda menu: menu["entries"][1].update(consent=menu["entries"][0]["consent"]),
        lambda menu: menu.update(shares=[0.5, 0.6]),
        lambda menu: menu.update(expected={"error": "small", "guess": 1}),
        lambda menu: menu.update(preselected=1),
        lambda menu: menu.update(entries=7),
        lambda menu: menu.update(entries=[1, 2]),
        lambda menu: menu.update(entries=menu["entries"][:1] * 2),
    ],
)
def test_a_changed_menu_is_refused(tmp_path, change):
    fake = Fake.of(MENU, **LATEST)
    change(fake.public["config"]["menu"])
    fake.public["config_hash"] = canonical_hash(fake.public["config"]).hex()
    with pytest.raises(CampaignError):
        print(Client(NOWHERE, folder=tmp_path, transport=fake).menu)


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["losses"].update(window=0.1),
        lambda config: config["rounds"].update(step=14),
        lambda config: config["rounds"].update(first="tomorrow"),
        lambda config: config.pop("losses"),
        lambda config: config.pop("rounds"),
        lambda config: config.update(as_of="2026-12-01"),
        lambda config: config.update(version=5),
        lambda config: config.update(mechanism=MECHANISMS["laplace with a bit"].to_dict()),
    ],
)
def test_changed_rounds_are_refused(tmp_path, change):
    fake = in_rounds()
    change(fake.public["config"])
    fake.public["config_hash"] = canonical_hash(fake.public["config"]).hex()
    with pytest.raises(CampaignError):
        print(Client(NOWHERE, folder=tmp_path, transport=fake).terms)
