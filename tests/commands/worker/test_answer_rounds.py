"""`quietcrowd worker answer` in campaigns with a menu or rounds."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from tests.campaign.device.test_client_rounds import LATEST, MENU, STRONG, WEAK, Cut
from tests.campaign.devices import NOWHERE, Fake
from tests.campaign.terms.test_rounds import rounds
from tests.commands.worker.test_answer import run, through, types  # noqa: F401

DAY = timedelta(days=1)
MOST_ANSWERS = ("yes", "no", "send")


def begun(before=timedelta(hours=1), **changed):
    """Return rounds of a year, as long as there may be; the first began an hour ago."""
    first = f"{datetime.now(UTC) - before:%Y-%m-%dT%H:%M:00Z}"
    said = {"first": first, "length": 366 * 86_400, "window": 2, "step": 2}
    return rounds(**{**said, **changed})


@pytest.fixture
def goes_to(monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.device.folder.draw_slot", lambda _: 0)
    return lambda fake: monkeypatch.setattr("httpx.Client", through(fake)) or fake


def in_words(output):
    return " ".join(output.split())


def test_a_worker_chooses_before_anything_is_asked(run, types, goes_to):  # noqa: F811
    fake = goes_to(Fake.of(MENU, tasks=2, **LATEST))
    _, prompts = types("9", "2", "y", *MOST_ANSWERS)
    code, output, _ = run(NOWHERE)
    assert code == 0
    shown = in_words(output)
    assert (
        "1. Someone 50 % sure of something about you becomes, from all that you send, at most"
        in shown
    )
    assert shown.count("The requester assumes that") == 2
    assert "assumes that 30% choose this" in shown
    assert "Choose before you know the questions." in shown
    assert prompts[0] == prompts[1] == "Choose your protection, 1 to 2 [1]: "
    joined = next(one for one in fake.requests if "/participants/" in one.url.path)
    assert json.loads(joined.content)["choice"] == 1
    assert shown.count("Birds") == 1


@pytest.mark.parametrize(("words", "choice"), [((), 0), (("--choice", 2), 1)])
def test_a_file_is_answered_by_a_choice(run, goes_to, tmp_path, words, choice):  # noqa: F811
    fake = goes_to(Fake.of(MENU, tasks=2, **LATEST))
    file = tmp_path / "mine.csv"
    file.write_text("task,label\nt0,yes\n")
    code, output, _ = run(NOWHERE, "--file", file, "--yes", "--json", *words)
    assert code == 0
    assert json.loads(output)["accepted"] == 1
    assert fake.bound["choice"] == choice


def test_a_choice_states_the_losses_of_a_window_and_of_all_rounds(run, types, goes_to):  # noqa: F811
    goes_to(Fake.of(MENU, tasks=2, rounds=begun(), **LATEST))
    types("", "n")
    shown = in_words(run(NOWHERE)[1])
    assert re.search(
        r"1\. Someone .* becomes, from any 2 rounds in a row, at most 73\.2 % sure: strong "
        r"protection \(epsilon = 1\); from all your rounds, at most 100 % sure: weak protection "
        r"\(epsilon = 15\)",
        shown,
    )


def test_a_file_between_rounds_is_not_sent_and_the_next_round_is_told(run, goes_to, tmp_path):  # noqa: F811
    fake = goes_to(Fake.of(STRONG, tasks=2, rounds=begun(-DAY), **LATEST))
    file = tmp_path / "mine.csv"
    file.write_text("task,label\nt0,yes\n")
    code, _, told = run(NOWHERE, "--file", file, "--yes")
    assert code == 2
    assert "this is not one of your rounds, so no answer of the file was sent" in told
    assert "Your next round begins at 2" in told
    assert not any(one.url.path.endswith("/me/reports") for one in fake.requests)


def test_a_worker_agrees_to_the_choice_of_an_invite(run, types, goes_to):  # noqa: F811
    fake = goes_to(Fake.of(MENU, tasks=2, **LATEST))
    fake.bound = {"choice": 1}
    _, prompts = types("", "y", "n")
    code, _, told = run(NOWHERE)
    assert code == 1
    assert "belongs to another choice" in told
    assert [one for one in prompts if "agree" in one] == [
        "Do you agree, and take part? [y/N/details] "
    ] * 2
    assert not any(one.url.path.endswith("/me/tasks") for one in fake.requests)


def test_rounds_are_answered_one_at_a_time(run, types, goes_to):  # noqa: F811
    fake = goes_to(Fake.of(STRONG, tasks=2, rounds=begun(), **LATEST))
    types("y", *MOST_ANSWERS)
    code, output, told = run(NOWHERE)
    assert code == 0
    shown = in_words(output)
    assert "you give up to 2 answers in each of your rounds" in shown
    assert "You answer one round in 2. Missed rounds are not made up." in shown
    assert re.search(
        r"this campaign \(epsilon\): 1 in any 2 rounds so far, 1 in all rounds so far, at most 15",
        in_words(told),
    )
    assert re.search(r"Your next round begins at \d{4}-\d\d-\d\d \d\d:\d\d UTC", told)
    types()
    code, _, told = run(NOWHERE)
    assert code == 0
    assert "You have answered this round" in told
    assert len(fake.posted) == 1


def test_a_worker_waits_for_the_first_round(run, types, goes_to):  # noqa: F811
    fake = goes_to(Fake.of(STRONG, tasks=2, rounds=begun(-DAY), **LATEST))
    types("y")
    for _ in range(2):
        code, _, told = run(NOWHERE)
        assert code == 0
        assert "Your next round begins at" in told
    assert not fake.posted


def test_reports_of_a_round_are_sent_by_the_same_command(run, types, goes_to):  # noqa: F811
    fake = goes_to(Cut.of(WEAK, tasks=2, rounds=begun(), **LATEST))
    fake.offline = True
    types("y", *MOST_ANSWERS)
    assert run(NOWHERE)[0] != 0
    fake.offline = False
    assert run(NOWHERE)[0] == 0
    assert len(fake.posted) == 1
