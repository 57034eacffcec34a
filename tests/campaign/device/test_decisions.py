"""Nothing can be decided after the draw: no report is seen before it is committed to be sent."""

import inspect
import json
import math

import httpx
import pytest
from tests.campaign.devices import NOWHERE, Fake
from tests.campaign.mechanisms import MECHANISMS

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.campaign.device.folder import CampaignFolder
from quietcrowd.exceptions import QuietcrowdError, UnansweredError

LABELS = [f"mark{place:02d}" for place in range(40)]
COIN = qc.RandomizedResponse(domain=qc.Categorical(LABELS), epsilon=0.01)
"""What it reports is one of forty names, nearly always another one than the answer."""

COMMITTING = {"answer", "choose", "resume"}
ANSWERS = dict.fromkeys((f"t{place}" for place in range(12)), "mark00")


def public_names():
    return [name for name in dir(Client) if not name.startswith("_")]


def looked_at(client, capfd):
    """Return all that the public interface of a client says, but for what commits or leaves."""
    seen = [repr(client), str(client)]
    for name in public_names():
        if name in COMMITTING | {"withdraw"}:
            continue
        try:
            value = getattr(client, name)
            seen.append(repr(value() if inspect.ismethod(value) else value))
        except QuietcrowdError as error:
            seen.append(str(error))
    return "".join([*seen, *capfd.readouterr()])


def marks_in(text):
    """Return the labels in a text that are not there on account of the domain or the examples."""
    return {label for label in LABELS if text.count(label) > 0}


def drawn_of(monkeypatch):
    """Return a list that gets what is drawn, when it is drawn."""
    drawn = []
    real = CampaignFolder.keep_upload

    def keep(folder, content, record):
        drawn.extend(item["value"] for item in json.loads(content)["reports"])
        real(folder, content, record)

    monkeypatch.setattr(CampaignFolder, "keep_upload", keep)
    return drawn


def test_the_public_interface_is_known():
    """Whoever adds a name here has to think of what it shows, and when."""
    assert public_names() == [
        *("affordable", "alike", "answer", "budget", "choose", "code", "committed", "consent"),
        *("copies", "guarantee"),
        *(
            "images",
            "join",
            "joined",
            "menu",
            "next_round",
            "noise_text",
            "not_asked",
            "repeated",
            "resume",
            "reused",
            "round",
            "sent",
        ),
        *(
            "sent_reports",
            "spent",
            "spent_after",
            "spent_in_window",
            "stored",
            "tasks",
            "terms",
            "used_after",
        ),
        "withdraw",
    ]


@pytest.mark.slow
def test_no_call_shows_a_report_before_it_is_committed(tmp_path, capfd):
    """All that is public says the same whatever the device would draw: 12 devices, 12 draws."""
    fake = Fake.of(COIN, tasks=12)
    said = set()
    for place in range(12):
        client = Client(NOWHERE, folder=tmp_path / str(place), transport=fake)
        client.join()
        member = client._folder.membership()
        text = looked_at(client, capfd).replace(str(tmp_path / str(place)), "FOLDER")
        said.add(text.replace(member.credential, "").replace(member.participant, ""))
        assert not client.committed
        assert not (client._folder.path / "questions.json").exists()
    assert len(said) == 1


def test_what_fails_before_it_is_committed_shows_and_keeps_nothing(tmp_path, monkeypatch, capfd):
    drawn = drawn_of(monkeypatch)
    client = Client(NOWHERE, folder=tmp_path, transport=Fake.of(COIN, tasks=12), budget=0.05)
    for answers in (ANSWERS, {**ANSWERS, "t0": "none"}, {"t99": "mark00"}, {}):
        with pytest.raises(QuietcrowdError) as caught:
            client.answer(answers)
        assert marks_in(str(caught.value)) <= set(LABELS[:6]), "those that name the domain"
    assert drawn == []
    assert marks_in("".join(capfd.readouterr())) == set()
    assert client.spent().total_epsilon == 0


class Losing(Fake):
    """A server that is gone when reports come; or takes and shows them, and does not say so."""

    takes = False

    def handle_request(self, request):
        if request.url.path.endswith("/me/reports"):
            if request.method == "POST":
                if self.takes:
                    super().handle_request(request)
                raise httpx.ReadError("the connection broke", request=request)
            if self.posted:
                held = {**json.loads(self.posted[0]), "sketch": None}
                return httpx.Response(200, json=held)
        return super().handle_request(request)


@pytest.mark.parametrize("takes", [False, True])
def test_committed_reports_are_not_shown_as_something_to_decide_on(
    tmp_path, monkeypatch, capfd, takes
):
    """Until they are acknowledged nothing but the files of the device holds them.

    Twelve reports are all among the three that the examples name once in 10^12 runs.
    """
    drawn = drawn_of(monkeypatch)
    fake = Losing.of(COIN, tasks=12)
    fake.takes = takes
    client = Client(NOWHERE, folder=tmp_path, transport=fake, patience=0)
    for send in (lambda: client.answer(ANSWERS), client.resume):
        with pytest.raises(UnansweredError) as caught:
            send()
        assert marks_in(str(caught.value)) == set()
    assert client.committed
    assert len({LABELS[value] for value in drawn}) > 3
    assert client.stored().count == (12 if takes else 0)
    seen = looked_at(client, capfd)
    assert len({seen.count(label) for label in LABELS[1:]}) == 1, "as often as in the domain"
    with pytest.raises(QuietcrowdError, match="not acknowledged them yet"):
        client.sent_reports()
    fake = Fake(public=fake.public, tasks=fake.tasks)
    later = Client(NOWHERE, folder=tmp_path, transport=fake)
    later.resume()
    assert sorted(LABELS.index(one.value) for one in later.sent_reports()) == sorted(drawn)


def test_a_worker_cannot_send_what_turned_out_well_alone(tmp_path):
    """Half of the workers who see a false "yes" would withdraw: then a sent one tells 84.5 %.

    Before, `prepare` drew and `preview` showed; both are gone, and what a device gives back comes
    after the reports have left.
    """
    keep = math.e / (1 + math.e)
    false_yes = (1 - keep) / 2
    assert round(100 * keep / (keep + false_yes), 1) == 84.5
    assert not {"prepare", "preview", "upload", "send"} & set(public_names())
    fake = Fake.of(MECHANISMS["one-layer"], tasks=1)
    client = Client(NOWHERE, folder=tmp_path, transport=fake)
    receipt = client.answer({"t0": "no"})
    assert len(fake.posted) == receipt.accepted == 1


def test_who_withdraws_what_is_on_its_way_did_not_see_it(tmp_path, capfd):
    fake = Losing.of(COIN, tasks=12)
    client = Client(NOWHERE, folder=tmp_path, transport=fake, patience=0)
    with pytest.raises(UnansweredError):
        client.answer(ANSWERS)
    client.withdraw()
    assert marks_in("".join(capfd.readouterr())) == set()
    assert not client.committed
    assert client.spent().total_epsilon == pytest.approx(0.12, rel=1e-3), "it may have been sent"
