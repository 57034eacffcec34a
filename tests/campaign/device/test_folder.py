import errno
import json
import os

import pandas as pd
import platformdirs
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from tests.campaign.devices import Fake
from tests.campaign.mechanisms import LABELS, MECHANISMS, RANGE

import quietcrowd as qc
from quietcrowd import private_files
from quietcrowd.campaign import Client
from quietcrowd.campaign.device.answering import Answering
from quietcrowd.campaign.device.folder import CampaignFolder, default_folder
from quietcrowd.campaign.device.records import CampaignRecord
from quietcrowd.campaign.terms.near_copies import sent_again
from quietcrowd.campaign.terms.server_address import CampaignLink
from quietcrowd.exceptions import CampaignError, FormatError, ParameterError
from quietcrowd.mechanisms import OptimalMechanism

LINK = CampaignLink.read("https://crowd.example/j/" + 32 * "0")
OTHER = CampaignLink.read("https://other.example/j/" + 32 * "0")


@pytest.fixture
def folder(tmp_path):
    folder = CampaignFolder.of(tmp_path / "device", LINK)
    with folder.held():
        return folder


def test_every_campaign_of_every_server_has_a_folder_of_its_own(tmp_path):
    assert CampaignFolder.of(tmp_path, LINK).path != CampaignFolder.of(tmp_path, OTHER).path


def entered(folder, **given):
    """Return the membership of a device that the server let in."""
    member = folder.enter("hash", **given)
    folder.accept(member)
    return member


def test_a_credential_is_drawn_once(folder):
    first = folder.enter("hash")
    assert (folder.membership(), folder.candidate()) == (None, first)
    assert folder.enter("another hash") == first
    assert folder.accept(first)
    assert not folder.accept(first)
    assert folder.enter("another hash") == folder.membership() == first
    assert folder.candidate() is None
    assert first.credential not in repr(first)
    assert len(first.participant) == 32
    assert (folder.path / "credential").stat().st_mode & 0o777 == 0o600
    assert folder.path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"credential": "qcw_short", "config_hash": "x"}',
        b"\xff",
    ],
)
def test_a_damaged_credential_is_told(folder, content):
    path = folder.path / "credential"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(FormatError, match="is damaged"):
        folder.membership()


INVITE, OTHER_INVITE = (f"qci_{43 * letter}" for letter in "ab")
CODE = 16 * "0"


@pytest.mark.parametrize(
    "asked",
    [{"invite": OTHER_INVITE}, {"invite": INVITE, "code": CODE}, {"invite": None, "code": CODE}],
)
def test_another_invite_and_a_code_begin_anew_once_the_server_lets_them_in(folder, asked):
    first = entered(folder, invite=INVITE)
    folder.memo.write_bytes(b"noise")
    folder.memo.chmod(0o600)
    folder.allotted(["a"])
    candidate = folder.enter("hash", **asked)
    assert candidate.credential != first.credential
    assert folder.enter("hash", **asked) == candidate
    assert folder.membership() == folder.enter("hash", invite=INVITE) == first
    folder.reject(first)
    assert folder.candidate() == candidate
    folder.reject(candidate)
    assert folder.candidate() is None
    assert (folder.memo.exists(), folder.allotted(["b"])) == (True, ["a"])
    folder.accept(candidate := folder.enter("hash", **asked))
    assert folder.membership() == candidate
    assert (folder.memo.exists(), folder.allotted(["b"])) == (False, ["b"])


@pytest.mark.parametrize("invite", [None, INVITE])
def test_a_membership_of_an_older_version_belongs_to_every_invite(folder, invite):
    member = entered(folder)
    assert folder.enter("hash", invite=invite) == member


def test_who_has_committed_reports_stays_who_they_are(folder):
    member = entered(folder, invite=INVITE)
    folder.keep_upload(b"reports", b"{}")
    assert folder.enter("hash", invite=OTHER_INVITE) == member


def test_the_tasks_that_a_worker_was_first_given_are_kept(folder):
    assert folder.allotted(["a", "b"]) == ["a", "b"]
    assert folder.allotted(["c"]) == ["a", "b"]
    path = folder.path / "allotment.json"
    assert path.stat().st_mode & 0o777 == 0o600
    folder.leave()
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"tasks": "a"}', b"\xff"])
def test_a_damaged_list_of_tasks_is_told(folder, content):
    path = folder.path / "allotment.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(FormatError, match=r"allotment\.json is damaged"):
        folder.allotted(["a"])


def test_a_credential_of_another_server_is_not_shown(tmp_path, folder):
    entered(folder)
    other = CampaignFolder.of(tmp_path / "device", OTHER)
    with other.held():
        (folder.path / "credential").rename(other.path / "credential")
    with pytest.raises(FormatError, match="is damaged"):
        other.membership()


def test_what_is_kept_stays_as_it_is(folder):
    folder.keep_upload(b"first", b"{}")
    folder.keep_upload(b"second", b"{}")
    assert folder.upload() == b"first"
    folder.keep_receipt({"accepted": 1})
    folder.keep_receipt({"accepted": 2})
    assert folder.receipt() == {"accepted": 1}


def test_reports_and_noise_are_not_kept_side_by_side(folder):
    folder.memo.write_bytes(b"noise")
    folder.memo.chmod(0o600)
    folder.keep_upload(b"reports", b"{}")
    assert not folder.memo.exists()


def test_leaving(folder):
    entered(folder)
    folder.enter("hash", code=CODE)
    folder.leave()
    assert (folder.membership(), folder.candidate()) == (None, None)
    assert not folder.withdrawn
    entered(folder)
    folder.keep_upload(b"reports", b"{}")
    folder.leave()
    folder.leave()
    assert folder.withdrawn
    assert {path.name for path in folder.path.iterdir()} == {"lock", "withdrawn"}


def test_one_process_at_a_time(tmp_path, folder):
    with (
        folder.held(),
        pytest.raises(CampaignError, match=r"another process uses https://crowd\.example/j/0"),
        CampaignFolder.of(tmp_path / "device", LINK).held(),
    ):
        pass
    with folder.held():
        pass


def test_the_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "quietcrowd"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".local" / "share" / "quietcrowd"


def test_a_folder_with_a_ledger_is_not_left_behind(monkeypatch, tmp_path):
    """On macOS the system's own place is another one than that of earlier versions."""
    for name in ("LOCALAPPDATA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    library = tmp_path / "Library" / "Application Support" / "quietcrowd"
    monkeypatch.setattr(platformdirs, "user_data_path", lambda *_: library)
    assert default_folder() == library
    earlier = tmp_path / ".local" / "share" / "quietcrowd"
    earlier.parent.mkdir(parents=True)
    earlier.symlink_to(tmp_path / "not mounted")
    assert default_folder() == earlier
    earlier.unlink()
    earlier.mkdir()
    assert default_folder() == earlier
    library.mkdir(parents=True)
    with pytest.raises(CampaignError, match="each may contain a ledger"):
        default_folder()


COIN = MECHANISMS["one-layer"]
HERE, ELSEWHERE = "https://crowd.example", "https://other.example"
REUSABLE = [name for name, one in MECHANISMS.items() if sent_again(one)]


class Campaigns:
    """Campaigns of made-up servers, and one device."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def __call__(self, mechanism=COIN, data=None, *, server=HERE, tasks=12, **members):
        """Return a client that has joined a new campaign, and its server."""
        self.count += 1
        shown = (
            [{"question": f"Is it {place}?"} for place in range(tasks)] if data is None else data
        )
        said = {name: members.pop(name) for name in ("requester_id", "as_of") if name in members}
        fake = Fake.of(mechanism, data=shown, campaign=f"{self.count:032x}", **said)
        link = f"{server}/j/{self.count:032x}"
        client = Client(link, folder=self.folder, transport=fake, **members)
        client.join()
        return client, fake


@pytest.fixture
def campaigns(tmp_path):
    return Campaigns(tmp_path / "device")


def answers_to(client, choice=0):
    domain = client.terms.mechanism.domain
    labels = getattr(domain, "labels", [0.0, 10.0])
    return {task.name: labels[choice] for task in client.tasks}


def sent(client):
    """Return what was reported, by the name of the task."""
    return {one.task: (one.value, one.participation) for one in client.sent_reports()}


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", REUSABLE)
def test_the_same_question_gets_the_same_report_whatever_is_answered_then(campaigns, name):
    first, _ = campaigns(MECHANISMS[name])
    first.answer(answers_to(first))
    spent = first.spent().total_epsilon
    assert spent == pytest.approx(12 * MECHANISMS[name].epsilon, rel=1e-5)
    second, _ = campaigns(MECHANISMS[name], budget=spent)
    assert set(second.reused) == {task.name for task in second.tasks}
    assert second.repeated == ()
    assert second.affordable() == 12
    second.answer(answers_to(second, choice=-1))
    assert sent(second) == sent(first)
    assert second.spent().total_epsilon == spent


@pytest.mark.parametrize("name", ["one-layer", "laplace"])
def test_also_after_the_worker_has_left(campaigns, name):
    first, _ = campaigns(MECHANISMS[name])
    first.answer(answers_to(first))
    before = sent(first)
    first.withdraw()
    [record] = first._folder.path.parent.glob("*/questions.json")
    kept = json.loads(record.read_bytes())
    assert kept.keys() == {
        *("campaign", "channel", "count", "letters"),
        *("mechanism", "origin", "reports", "requester", "spared"),
    }
    second, _ = campaigns(MECHANISMS[name])
    second.answer(answers_to(second, choice=-1))
    assert sent(second) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-layer", "matrix factorisation"])
def test_noise_that_answers_share_is_drawn_afresh_and_told(campaigns, name):
    first, one = campaigns(MECHANISMS[name])
    first.answer(answers_to(first))
    second, other = campaigns(MECHANISMS[name])
    assert second.reused == ()
    assert set(second.repeated) == {task.name for task in second.tasks}
    second.answer(answers_to(second))
    assert len(first._ledger.read().charges) == 2
    assert json.loads(one.posted[0]) != json.loads(other.posted[0])


OTHERS = {
    "another epsilon": {"mechanism": qc.RandomizedResponse(domain=COIN.domain, epsilon=1.5)},
    "NULL": {"mechanism": MECHANISMS["one-layer with NULL"]},
    "another server": {"server": ELSEWHERE},
    "another port": {"server": f"{HERE}:8443"},
    "another requester": {"requester_id": 32 * "b"},
    "an older version": {"requester_id": None},
    "another day": {"as_of": "2026-12-02"},
}


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_another_channel_or_server_is_drawn_afresh_told_and_added_up(campaigns, name):
    """All of 40 reports alike by chance: below 10^-7 for each of these."""
    first, _ = campaigns(tasks=40)
    first.answer(answers_to(first))
    second, _ = campaigns(tasks=40, **OTHERS[name])
    assert (set(second.repeated), second.reused) == ({one.name for one in second.tasks}, ())
    cost = second.terms.guarantee.total_epsilon
    second.answer(answers_to(second))
    assert second.spent().total_epsilon == pytest.approx(40 + cost)
    values = [[value for value, _ in sent(one).values()] for one in (first, second)]
    assert values[0] != values[1]
    assert second.repeated == (), "then it is too late"


def marked(fake):
    """Return the names of the tasks whose report was marked in the last upload."""
    names = {task["task_id"]: task["task"] for task in fake.tasks}
    items = json.loads(fake.posted[-1])["reports"]
    return {names[item["task_id"]] for item in items if item.get("again")}


@pytest.mark.parametrize("answered", ["yes", "no"])
def test_what_is_sent_again_is_marked_whatever_is_answered(campaigns, answered):
    """Before, nothing told the requester: six reports of an earlier day passed for new ones."""
    asked = [{"question": name} for name in ("Old?", "Old?", "New?", "New?", "Newer?")]
    first, one = campaigns(data=asked[:1])
    first.answer({"t0": "yes"})
    assert marked(one) == set()
    second, other = campaigns(data=asked)
    [copy] = [names[1] for names in second.copies if names[1] in ("t2", "t3")]
    second.answer(dict.fromkeys((task.name for task in second.tasks), answered))
    assert marked(other) == {"t0", "t1", copy}


def test_only_campaigns_that_name_the_requester_are_marked(campaigns):
    client, fake = campaigns(data=[{"question": "Old?"}] * 3, requester_id=None)
    client.answer(answers_to(client))
    assert marked(fake) == set()


def test_a_record_of_an_older_version_is_not_shared_and_counts_as_asked(campaigns):
    first, _ = campaigns()
    first.answer(answers_to(first))
    [path] = first._folder.path.parent.glob("*/questions.json")
    record = json.loads(path.read_bytes())
    del record["requester"]
    path.write_text(json.dumps(record))
    second, _ = campaigns()
    assert (set(second.repeated), second.reused) == ({one.name for one in second.tasks}, ())


def test_near_copies_in_another_campaign_are_told(campaigns):
    first, _ = campaigns(data=[{"ask": "Do you take drugs?", "n": 1}])
    first.answer(answers_to(first))
    second, _ = campaigns(data=[{"ask": "do you take drugs? (2)"}, {"ask": "Are you well?"}])
    second.join()
    assert (second.reused, second.repeated) == ((), ("t0",))
    second.answer(answers_to(second))
    assert second.spent().total_epsilon == pytest.approx(3)


def test_a_look_alike_in_another_campaign_is_told_and_drawn_afresh(campaigns):
    first, _ = campaigns(data=[{"ask": "Is it you?", "n": 1}])
    first.answer(answers_to(first))
    second, _ = campaigns(data=[{"ask": "ls it y\u043eu?"}])
    second.join()
    assert (second.reused, second.repeated) == ((), ("t0",))


def test_labels_in_another_order_are_the_same_question_and_channel(campaigns):
    first, one = campaigns(qc.RandomizedResponse(domain=LABELS, epsilon=1.0))
    first.answer(answers_to(first))
    turned = qc.RandomizedResponse(domain=qc.Categorical(["maybe", "no", "yes"]), epsilon=1.0)
    second, other = campaigns(turned)
    second.answer(answers_to(second, choice=1))
    assert sent(second) == sent(first)
    assert len(one.posted) == len(other.posted) == 1


def truths_of(reported, mechanism):
    """Return what a requester infers from what the devices sent, by the names of tasks."""
    rows = [
        (task["task"], worker, 1 + item["value"])
        for worker, (client, fake) in enumerate(reported)
        for item in client._answering.upload().items
        for task in fake.tasks
        if task["task_id"] == item["task_id"]
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    table = qc.Answers.from_frame(frame, mechanism.report_domain)
    found = qc.NoiseAware().fit(qc.Reports(table=table, mechanism=mechanism)).truths
    return dict(zip(found["task"], found["truth"], strict=True))


@pytest.mark.nightly
@pytest.mark.slow
def test_reports_without_a_name_are_sent_again_by_what_they_mean(tmp_path):
    """One table, labels in another order: before, 128 of 128 reports went again, 0 of 8 right.

    Now a truth is wrong in at most 1 of 30 draws, so that 6 of 8 are in fewer than 1 of 10^6.
    """
    one, other = (qc.Categorical(list(labels)) for labels in ("abcd", "dcba"))
    first = OptimalMechanism(domain=one, epsilon=2.0, prior={"a": 0.7})
    turned = evolve(first, domain=other, weights=first.weights[::-1])
    another = evolve(first, domain=other, prior={"d": 0.7})
    assert another.weights == first.weights
    truths = {f"t{place}": label for place, label in enumerate("aaaaabcd")}
    parts = {"first": [], "turned": [], "another": []}
    for worker in range(16):
        campaigns = Campaigns(tmp_path / str(worker))
        for name, mechanism in zip(parts, (first, turned, another), strict=True):
            client, fake = campaigns(mechanism, tasks=8)
            again = {"first": (), "turned": truths, "another": ()}[name]
            fresh = {"first": (), "turned": (), "another": truths}[name]
            assert (set(client.reused), set(client.repeated)) == (set(again), set(fresh))
            client.answer(truths)
            parts[name].append((client, fake))
        assert client.spent().total_epsilon == pytest.approx(2 * 8 * 2.0, rel=1e-6)
    meant = [[sent(client) for client, _ in parts[name]] for name in parts]
    assert meant[1] == meant[0]
    assert meant[2] != meant[0]
    assert truths_of(parts["turned"], turned) == truths_of(parts["first"], first)
    for name, mechanism in (("first", first), ("another", another)):
        found = truths_of(parts[name], mechanism)
        assert sum(found[task] == label for task, label in truths.items()) >= 3


@pytest.mark.parametrize("name", ["one-layer", "sets of labels", "optimal", "laplace"])
def test_reports_of_an_earlier_kind_of_hash_stay_stored_and_are_charged_as_asked(campaigns, name):
    """Whether they came through the same channel is not known: the noise is drawn afresh."""
    first, _ = campaigns(MECHANISMS[name])
    first.answer(answers_to(first))
    spent = first.spent().total_epsilon
    [path] = first._folder.path.parent.glob("*/questions.json")
    record = json.loads(path.read_bytes())
    path.write_text(json.dumps({**record, "channel": 64 * "0"}))
    second, _ = campaigns(MECHANISMS[name])
    assert second.reused == ()
    assert set(second.repeated) == {task.name for task in second.tasks}
    second.answer(answers_to(second))
    assert second.spent().total_epsilon == pytest.approx(2 * spent)
    third, _ = campaigns(MECHANISMS[name])
    assert len(third.reused) == len(third.tasks)


def test_other_questions_cost_and_are_drawn(campaigns):
    first, _ = campaigns(tasks=3)
    first.answer(answers_to(first))
    more = [{"question": f"Is it {place}?"} for place in (1, 2, 3, 4)]
    second, _ = campaigns(data=more, budget=4)
    assert len(second.reused) == 2
    assert second.affordable() == 3
    with pytest.raises(ParameterError, match=r"\(2\) would increase it to 5"):
        second.answer(answers_to(second))
    given = {"t0": "yes", "t1": "yes", "t2": "no"}
    second.answer(given)
    assert second.spent().total_epsilon == pytest.approx(4)
    assert sent(second).keys() == given.keys()


@pytest.mark.grid
@pytest.mark.parametrize("name", REUSABLE)
def test_copies_in_one_campaign_get_one_report(campaigns, name):
    """21 copies: before, each had noise of its own, and the majority was the answer."""
    mechanism = MECHANISMS[name]
    client, _ = campaigns(mechanism, data=[{"question": "Drugs?"}] * 21 + [{"question": "Age?"}])
    [copies] = client.copies
    assert set(copies) == {f"t{place}" for place in range(21)}
    client.answer(answers_to(client))
    reports = sent(client)
    assert len(reports) == 22
    assert len({reports[name] for name in copies}) == 1
    assert client.spent().total_epsilon == pytest.approx(2 * mechanism.epsilon, rel=1e-5)


def test_copies_under_shared_noise_are_charged_one_by_one(campaigns):
    client, _ = campaigns(MECHANISMS["two-layer"], data=[{"question": "Drugs?"}] * 21)
    client.answer(answers_to(client))
    [charge] = client._ledger.read().charges
    assert charge.count == 21


@pytest.mark.nightly
@pytest.mark.slow
def test_of_copies_with_different_answers_the_first_by_id_counts(tmp_path):
    """A channel of hardly any noise shows which: wrong once in 10^6 reports, of 12."""
    loud = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=16.0)
    for place in range(12):
        campaigns = Campaigns(tmp_path / str(place))
        client, _ = campaigns(loud, data=[{"question": "Drugs?"}] * 3)
        _, second, third = client.copies[0]
        client.answer({second: "yes", third: "no"})
        assert sent(client) == dict.fromkeys((second, third), ("yes", None))


SPELLINGS = {
    "https": [
        *("https://crowd.example", "https://CROWD.example", "https://crowd.example:443"),
        *("https://crowd.example.", "https://Crowd.Example.:0443", "https://crowd.example:"),
    ],
    "IDNA": [
        *("https://bücher.example", "https://BÜCHER.example:443", "https://bücher。example"),
        *("https://xn--bcher-kva.example", "https://XN--BCHER-KVA.EXAMPLE."),
    ],
    "this machine": [
        *("http://localhost:8000", "http://LOCALHOST.:8000", "http://127.0.0.1:8000"),
        *("http://127.1:8000", "http://[::1]:8000", "http://[0:0:0::1]:8000"),
        "http://[::ffff:127.0.0.1]:8000",
    ],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_server_is_one_however_it_is_spelled(tmp_path, name):
    """The same campaign under every spelling is one campaign: one folder, one draw, one charge."""
    fake = Fake.of(COIN, tasks=40, campaign=32 * "7")
    bodies = set()
    for place, server in enumerate(SPELLINGS[name]):
        client = Client(f"{server}/j/{32 * '7'}", folder=tmp_path, transport=fake)
        client.resume() if place else client.answer(answers_in(fake))
        bodies.add(client._folder.upload())
    assert len(bodies) == 1
    assert client.spent().total_epsilon == pytest.approx(40)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", SPELLINGS)
def test_campaigns_of_a_server_are_its_own_however_it_is_spelled(campaigns, name):
    seen = []
    for server in SPELLINGS[name]:
        client, _ = campaigns(server=server, tasks=40)
        client.answer(answers_to(client))
        seen.append(sent(client))
    assert all(one == seen[0] for one in seen)
    assert client.spent().total_epsilon == pytest.approx(40)


def answers_in(fake):
    return {task["task"]: "yes" for task in fake.tasks}


class CrashError(Exception):
    pass


def crashing(monkeypatch, owner, name, *, after):
    """Make a call crash once, before or after it does its work."""
    real = getattr(owner, name)

    def once(*words, **members):
        monkeypatch.setattr(owner, name, real)
        if after:
            real(*words, **members)
        raise CrashError

    monkeypatch.setattr(owner, name, once)


MOMENTS = {
    "before the reports": (CampaignFolder, "keep_upload", False),
    "after the reports": (CampaignFolder, "keep_upload", True),
    "before the record": (CampaignRecord, "keep", False),
    "after the record": (CampaignRecord, "keep", True),
    "after the charge": (Answering, "charge", True),
    "before the receipt": (CampaignFolder, "keep_receipt", False),
}


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("then", ["itself", "another", "another, after leaving"])
@pytest.mark.parametrize("name", MOMENTS)
def test_a_crash_at_any_moment_costs_one_draw(campaigns, monkeypatch, name, then):
    """What was committed is charged, and is the report in every campaign; nothing else is."""
    owner, call, after = MOMENTS[name]
    first, fake = campaigns(tasks=40)
    crashing(monkeypatch, owner, call, after=after)
    with pytest.raises(CrashError):
        first.answer(answers_to(first))
    committed = first.committed
    assert committed == (name != "before the reports")
    if then == "another, after leaving":
        first.withdraw()
    second, _ = campaigns(tasks=40, budget=40)
    if then != "itself":
        assert bool(second.reused) == committed
        second.answer(answers_to(second, choice=-1))
        assert second.spent().total_epsilon == pytest.approx(40)
    if then != "another, after leaving":
        first.resume() if committed else first.answer(answers_to(first))
        assert first.spent().total_epsilon == pytest.approx(40)
        assert len(set(fake.posted)) == 1
    if then == "another":
        assert sent(first) == sent(second)


def test_the_budget_counts_what_was_committed_and_not_yet_charged(campaigns, monkeypatch):
    first, _ = campaigns(tasks=3, budget=5)
    crashing(monkeypatch, CampaignFolder, "keep_upload", after=True)
    with pytest.raises(CrashError):
        first.answer(answers_to(first))
    assert first.spent().total_epsilon == 0
    other, fake = campaigns(data=[{"question": f"Other {place}?"} for place in range(3)], budget=5)
    with pytest.raises(ParameterError, match="used epsilon = 3 of a budget of 5"):
        other.answer(answers_to(other))
    assert fake.posted == []
    first.resume()
    assert first.spent().total_epsilon == pytest.approx(3)


@pytest.mark.parametrize("name", ["one-layer", "laplace", "two-layer"])
def test_a_full_disk_leaves_nothing_of_a_draw(campaigns, monkeypatch, name):
    """Else somebody could look at a draw, withdraw, and have another one for nothing."""
    first, fake = campaigns(MECHANISMS[name], tasks=3)
    real = os.link

    def full(source, target, **members):
        if str(target).endswith("upload.json"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(source, target, **members)

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(private_files, "mkstemp", no_room)
    with pytest.raises(OSError, match="No space left"):
        first.answer(answers_to(first))
    memo = {"memo"} & {file.name for file in first._folder.path.iterdir()}
    assert {file.name for file in first._folder.path.iterdir()} == {"credential", "lock"} | memo
    assert (first.committed, fake.posted) == (False, [])
    assert first.spent().total_epsilon == 0
    second, _ = campaigns(MECHANISMS[name], tasks=3)
    assert (second.reused, second.repeated) == ((), ())


def no_room(**_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_drafts_that_a_killed_writer_left_are_removed(campaigns):
    first, _ = campaigns(tasks=3)
    first.join()
    draft = first._folder.path / ".upload.json.abc123"
    draft.write_bytes(b"reports that were never committed")
    first.join()
    assert not draft.exists()


@pytest.mark.parametrize("name", ["credential", "upload.json", "receipt.json"])
def test_a_wipe_that_was_interrupted_is_brought_to_its_end(campaigns, name):
    first, _ = campaigns(tasks=3)
    first.answer(answers_to(first))
    path = first._folder.path / name
    path.write_bytes(bytes(len(path.read_bytes())))
    again, _ = campaigns(tasks=3)
    assert again.reused != ()
    if name == "credential":
        with pytest.raises(CampaignError, match="is missing, and this device cannot authenticate"):
            first.withdraw()
    else:
        first.withdraw()
        assert not path.exists()


def test_reports_whose_file_is_lost_still_serve(campaigns):
    first, _ = campaigns(tasks=3)
    first.answer(answers_to(first))
    before = sent(first)
    (first._folder.path / "upload.json").unlink()
    with pytest.raises(CampaignError, match="its files are missing"):
        first.answer(answers_to(first))
    second, _ = campaigns(tasks=3)
    second.answer(answers_to(second))
    assert sent(second) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b"\xff", b'{"origin": 1}', b"[" * 100_000],
)
def test_a_damaged_record_stops_the_draw_and_not_the_withdrawal(campaigns, content):
    first, _ = campaigns(tasks=3)
    first.answer(answers_to(first))
    path = first._folder.path / "questions.json"
    path.write_bytes(content)
    second, fake = campaigns(tasks=3)
    with pytest.raises(FormatError, match=r"questions.json is damaged. Restore it from a copy"):
        second.answer(answers_to(second))
    assert fake.posted == []
    second.withdraw()
    assert not second.joined


def test_a_record_with_a_report_that_cannot_be_is_damaged(campaigns):
    first, _ = campaigns(tasks=3)
    first.answer(answers_to(first))
    path = first._folder.path / "questions.json"
    path.write_bytes(path.read_bytes().replace(b'["yes",null]', b'["perhaps",null]'))
    path.write_bytes(path.read_bytes().replace(b'["no",null]', b'["perhaps",null]'))
    second, _ = campaigns(tasks=3)
    with pytest.raises(FormatError, match=r"is damaged. Restore questions\.json"):
        _ = second.reused


def test_two_campaigns_at_the_same_time_draw_once(campaigns):
    from concurrent.futures import ThreadPoolExecutor

    clients = [campaigns(tasks=40)[0] for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: one.answer(answers_to(one)), clients))
    assert all(sent(one) == sent(clients[0]) for one in clients)
    assert clients[0].spent().total_epsilon == pytest.approx(40)


@pytest.mark.nightly
@pytest.mark.slow
@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(0, 1))
def test_equal_questions_equal_reports_and_the_ledger_counts_questions(
    tmp_path_factory, questions, choice
):
    campaigns = Campaigns(tmp_path_factory.mktemp("device"))
    seen = {}
    for _ in range(2):
        client, _ = campaigns(data=[{"question": f"Is it {one}?"} for one in questions])
        client.answer(answers_to(client, choice))
        for task in client.tasks:
            report = sent(client)[task.name]
            assert seen.setdefault(task.data["question"], report) == report
        choice = 1 - choice
    assert client.spent().total_epsilon == pytest.approx(len(set(questions)))


def test_numbers_are_sent_again_exactly(campaigns):
    fine = qc.LaplaceMechanism(domain=RANGE, epsilon=0.37, fill=None, step=2.0**-12)
    first, one = campaigns(fine)
    first.answer(dict.fromkeys((task.name for task in first.tasks), 7.654321))
    second, other = campaigns(fine)
    second.answer(dict.fromkeys((task.name for task in second.tasks), 1.0))
    values = [
        sorted(item["value"] for item in json.loads(wire.posted[0])["reports"])
        for wire in (one, other)
    ]
    assert values[0] == values[1]
