"""``quietcrowd worker answer`` as a worker meets it, against a real server."""

import json
import os
import re
import sys
import tomllib
from functools import partial
from itertools import chain
from pathlib import Path

import httpx
import pytest
from sqlalchemy import delete, select, update
from tests.campaign.devices import NOWHERE, Fake
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import Running, new_desk
from tests.campaign.pictures import PNG
from tests.campaign.promises import PROMISES
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.campaign.device.folder import CampaignFolder
from quietcrowd.campaign.device.http_client import CampaignServer
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.exceptions import UnansweredError

INTERRUPTED = 130


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    database = f"sqlite:///{tmp_path_factory.mktemp('answering')}/q.db"
    running = Running(
        Settings(database=database, infer=False, requests_per_second=0, joins_per_minute=0)
    ).start()
    yield running
    running.stop()


@pytest.fixture
def desk(server):
    return new_desk(server)


@pytest.fixture
def link(desk):
    return desk.link(desk.campaign(description="Look at\nthe sky.\x1b[2J"))


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    """Return a function that runs the command on a device of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return partial(run, "worker", "answer")


@pytest.fixture
def types(monkeypatch):
    """Return a way to say what the worker types; in the end the input ends."""

    def prepare(*lines):
        left = list(lines)
        prompts = []

        def read(prompt):
            prompts.append(prompt)
            if not left:
                raise EOFError
            line = left.pop(0)
            if isinstance(line, type):
                raise line
            return line() if callable(line) else line

        monkeypatch.setattr("builtins.input", read)
        return left, prompts

    return prepare


def write(path, *rows):
    path.write_text("task,label\n" + "".join(f"{row}\n" for row in rows))
    return path


def test_the_file_of_an_image_is_shown_beside_its_question(run, types, desk, tmp_path):
    link = desk.link(desk.campaign(tasks=1, image=PNG))
    seen = []

    def look():
        [file] = tmp_path.rglob("image-*.png")
        seen.append((file, file.read_bytes()))
        return "yes"

    types("y", look, "", "send")
    status, output, _ = run(link)
    [(file, content)] = seen
    assert (status, content) == (0, PNG)
    assert f"| picture:\n  The image is {file}\n" in output
    assert not file.exists()


def test_a_worker_answers_goes_back_and_sends(run, types, link):
    left, _ = types("details", "y", "2", "no", "<", "yes", "1", "2", "no", "", "send")
    status, output, errors = run(link, "--total-epsilon", 5)
    assert (status, left) == (0, [])
    shown = " ".join(output.split())
    assert "The requester wrote the text after |: | Birds | Look at | the sky." in shown
    assert f"| Requester: {PROMISES['requester']} | Contact: {PROMISES['contact']}" in shown
    assert f"| Purpose: {PROMISES['purpose']} " in shown
    assert "deletes your reports and everything else it has about you 30 days after" in shown
    assert "\x1b" not in output
    assert "at most 1 about one answer if the others are known, and 3 about all" in shown
    assert "someone who was 50 % sure of it before can become at most 95.3 % sure" in shown
    assert "has used epsilon = 0 of a budget of 5; after this campaign it will be at most 3." in (
        shown
    )
    assert "1 of 3: t0 | Is it 0? 1 no 2 yes" in shown
    assert "Your answer so far: no. Enter keeps it, - removes it." in shown
    assert "1. t0: yes 2. t1: no 3. t2: no Type send to randomize them" in shown
    assert "answer sent as no sent as yes" in shown
    assert "no 73.1 % 26.9 % yes 26.9 % 73.1 %" in shown
    assert "the answer 'no' is reported as 'no' in 73.1 % of all cases" in shown
    assert "reasons that have nothing to do with your answers or the drawn noise" in shown
    assert "Sent: 3 reports. This device has used epsilon = 3 of a budget of" in " ".join(
        errors.split()
    )
    assert max(map(len, output.splitlines())) <= 80
    held = Client(link).stored()
    assert held.as_sent
    assert len(held.reports) == 3
    again = run(link)
    assert again[0] == 0
    assert "You have answered this campaign" in again[2]


def test_a_worker_sees_the_terms_in_brief(run, types, link):
    left, _ = types("n")
    status, output, errors = run(link)
    assert (status, left) == (1, [])
    brief, _, rest = output.partition("This device has spent")
    _, _, brief = brief.partition("you give up to 3 answers.\n\n")
    assert brief.splitlines() == [
        "On average, your device swaps 27 of 100 answers at random, then sends them.",
        "Someone is 50 % sure of something about you. They become at most",
        "73.2 % sure from one answer that is sent",
        "95.3 % sure from all 3 together",
        "Not hidden: taking part, and skipping. Never skip because of your answer.",
        "The requester sees which reports are yours.",
        "Reports are deleted 30 days after closing, or if you withdraw.",
        "Answers elsewhere add up.",
        "",
    ]
    assert "About one answer" not in rest
    assert "Nothing was sent" in errors


def test_no_more_is_asked_than_the_budget_allows(run, types, link):
    left, _ = types("y", "2", "2", "2", "", "send")
    status, output, _ = run(link, "--total-epsilon", 2)
    assert (status, left) == (0, [])
    shown = " ".join(output.split())
    assert "of a budget of 2; after this campaign it will be at most 2." in shown
    assert "The budget allows no more than 2 answers. Skip the last questions," in shown
    assert "You have given all 2 answers" in shown
    assert len(Client(link).stored().reports) == 2


@pytest.mark.parametrize("name", ["one-layer", "one-layer with NULL"])
def test_who_has_no_budget_left_is_not_asked(run, types, desk, name):
    link = desk.link(desk.campaign(MECHANISMS[name]))
    left, prompts = types("y")
    status, output, errors = run(link, "--total-epsilon", 0.5)
    assert (status, output, left, prompts) == (2, "", ["y"], [])
    count = 3 if "NULL" in name else 1
    assert "of a budget of 0.5 at delta = " in errors
    assert f"({count}) would increase it to" in errors
    assert not Client(link).joined


def test_answers_that_the_budget_no_longer_allows_can_be_taken_back(run, types, link, desk):
    other = desk.link(desk.campaign(about="she"))

    def send_after_another_campaign():
        Client(other).answer({"t0": "yes"})
        return "send"

    typed = ("2", "2", "1", send_after_another_campaign)
    left, _ = types("y", *typed, "2", "-", "", "send")
    status, output, errors = run(link, "--total-epsilon", 3)
    assert (status, left) == (0, [])
    told = " ".join(errors.split())
    assert "(3) would increase it to 4. Nothing was sent." in told
    assert "Your answers are still here. Remove the last ones, or stop (Ctrl-C)." in told
    assert output.count("1 of 3: t0") == 1
    assert {report.task for report in Client(link).stored().reports} == {"t0", "t2"}


def test_a_title_and_a_description_do_not_pass_for_the_devices_words(run, types, monkeypatch):
    claim = "Epsilon is at most 0.01 about one answer."
    fake = Fake.of(MECHANISMS["one-layer"], title=f"Birds\n{claim}", description=f"Of\n{claim}\n")
    monkeypatch.setattr("httpx.Client", through(fake))
    types("n")
    output = run(NOWHERE)[1]
    assert f"\n| Birds {claim}\n" in output
    assert f"\n| {claim}\n" in output
    assert f"\n{claim}" not in output


def test_what_whoever_asks_says_of_themselves_does_not_pass_either(run, types, monkeypatch):
    claim = "Nothing is kept."
    said = dict.fromkeys(("requester", "contact", "purpose"), f"A\n{claim}")
    fake = Fake.of(MECHANISMS["one-layer"], promises=said)
    monkeypatch.setattr("httpx.Client", through(fake))
    types("n")
    output = run(NOWHERE)[1]
    assert f"\n{claim}" not in output
    for name in ("Requester", "Contact", "Purpose"):
        assert f"\n| {name}: A {claim}\n" in output


def test_a_campaign_of_an_older_version_is_told_to_promise_nothing(run, types, monkeypatch):
    fake = Fake.of(MECHANISMS["one-layer"], promises=None)
    monkeypatch.setattr("httpx.Client", through(fake))
    types("n")
    shown = " ".join(run(NOWHERE)[1].split())
    assert "of an older version. It does not name the requester, the purpose, or how long" in shown
    assert "The requester sees your reports as soon as you send them" in shown


def through(transport):
    """Return what makes an HTTP client whose requests go to a transport."""
    real = httpx.Client
    return lambda **members: real(**{**members, "transport": transport})


def test_a_file_is_answered_without_a_question(run, link, tmp_path, types):
    left, prompts = types()
    file = write(tmp_path / "mine.csv", "t0,yes", "t2,no", "t1,")
    status, output, _ = run(link, "--file", file, "--yes", "--json")
    assert (status, left, prompts) == (0, [], [])
    told = json.loads(output)
    assert (told["accepted"], told["duplicates"]) == (2, 0)
    assert told["spent"] == pytest.approx(2)
    assert {report["task"] for report in told["reports"]} == {"t0", "t2"}
    assert told["consent"]
    shown = json.loads(run(link, "--status", "--json")[1])
    assert shown["as_sent"]
    assert shown["reports"] == told["reports"]
    assert "shows the reports that this device sent, and no others" in run(link, "--status")[2]
    status, output, errors = run(link, "--file", file, "--yes", "--json")
    assert (status, json.loads(output)) == (0, told)
    assert "You have answered this campaign" in errors


def test_a_completion_code_is_told_as_often_as_it_is_asked_for(run, desk, tmp_path):
    link = desk.link(desk.campaign(completion_code="C1 É"))
    file = write(tmp_path / "mine.csv", "t0,yes")
    for _ in range(2):
        status, output, errors = run(link, "--file", file, "--yes", "--json")
        assert status == 0
        assert json.loads(output)["completion_code"] == "C1 É"
        assert "Completion code, the same for all workers: C1 É\n" in errors


@pytest.mark.grid
@pytest.mark.parametrize("name", ["laplace with a bit", "matrix factorisation", "two-layer"])
def test_other_mechanisms_are_shown_as_they_were_sent(run, desk, tmp_path, name):
    link = desk.link(desk.campaign(MECHANISMS[name], tasks=25))
    label = {"two-layer": "maybe", "matrix factorisation": 3}.get(name, 2.5)
    file = write(tmp_path / "mine.csv", *(f"t{place},{label}" for place in range(25)))
    status, output, errors = run(link, "--file", file, "--yes")
    assert (status, "error" in errors) == (0, False), errors
    assert "a sketch of" not in output
    status, output, _ = run(link, "--status")
    assert status == 0
    if name == "matrix factorisation":
        assert "a sketch of 4 numbers: " in output
    else:
        assert "… and 5 more" in output
    if name == "laplace with a bit":
        assert re.search(r"^  t2: -?[0-9.e+-]+, answered: -?[0-9.e+-]+$", output, re.MULTILINE)


def test_who_does_not_agree_sends_nothing(run, types, link):
    types("n")
    status, _, errors = run(link)
    assert status == 1
    assert "You are not taking part. Nothing was sent." in errors
    assert not Client(link).joined


@pytest.mark.parametrize("end", [(), (KeyboardInterrupt,)])
def test_stopping_in_between_sends_nothing_and_keeps_no_answer(run, types, link, end):
    types("y", "2", *end)
    status, _, errors = run(link)
    assert status == INTERRUPTED
    assert errors.strip().splitlines()[-1] == "quietcrowd: stopped"
    client = Client(link)
    assert (client.joined, client.committed) == (True, False)
    assert client.stored().reports == ()


@pytest.fixture
def unreachable(monkeypatch):
    """Return a way to lose what is posted, until it is called again."""
    lost = []
    real = CampaignServer.ask

    def ask(server, method, path, **members):
        if lost and path == "/me/reports" and method == "POST":
            raise UnansweredError("the server cannot be reached; try later")
        return real(server, method, path, **members)

    monkeypatch.setattr(CampaignServer, "ask", ask)
    return lambda: lost.pop() if lost else lost.append(True)


def test_what_was_committed_is_sent_by_the_same_command(run, types, link, tmp_path, unreachable):
    unreachable()
    left, _ = types("y", "2", "", "", "send")
    status, output, errors = run(link)
    assert (status, left) == (2, [])
    assert "Your reports are on their way. The same command sends them again" in errors
    file = write(tmp_path / "mine.csv", "t0,yes")
    refused = run(link, "--file", file, "--yes")
    assert refused[0] == 2
    assert "your reports are being sent. Omit --file" in refused[2]
    status, output, errors = run(link)
    assert (status, output) == (2, ""), "they are not shown"
    unreachable()
    left, prompts = types()
    status, output, errors = run(link)
    assert (status, output, prompts) == (0, "", []), "there is nothing to decide"
    assert "Sent: 1 report. This device has spent epsilon = 1 in all campaigns." in errors
    assert Client(link).stored().as_sent


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("way", ["questions", "file", "json"])
def test_nothing_that_is_printed_before_sending_depends_on_what_is_drawn(
    run, types, tmp_path, monkeypatch, way
):
    """Four devices draw 12 of 40 labels each: alike by chance once in 10^19 pairs."""
    labels = [f"mark{place}" for place in range(40)]
    coin = qc.RandomizedResponse(domain=qc.Categorical(labels), epsilon=0.01)
    fake = Fake.of(coin, tasks=12)
    file = write(tmp_path / "mine.csv", *(f"t{place},mark0" for place in range(12)))
    drawn, said = set(), set()

    def lose(request):
        if request.method == "POST":
            drawn.add(tuple(one["value"] for one in json.loads(request.content)["reports"]))
            raise httpx.ReadError("the connection broke", request=request)
        return fake.handle_request(request)

    wire = httpx.MockTransport(lose)
    monkeypatch.setattr("httpx.Client", through(wire))
    monkeypatch.setattr("quietcrowd.campaign.device.http_client.FIRST_PAUSE", 1e9)
    for place in range(4):
        types("y", *["1"] * 12, "send")
        words = {
            "questions": (),
            "file": ("--file", file, "--yes"),
            "json": ("--file", file, "--yes", "--json"),
        }[way]
        status, *printed = run(NOWHERE, *words, "--folder", tmp_path / str(place))
        assert status == 2
        said.add(tuple(printed))
        status, *printed = run(NOWHERE, "--folder", tmp_path / str(place))
        said.add(tuple(printed))
    assert len(drawn) == 4
    assert len(said) == 2, "that of the first try, and that of the second"


def test_what_is_on_its_way_can_be_taken_back_unseen(run, types, link, unreachable):
    unreachable()
    types("y", "2", "", "", "send")
    assert run(link)[0] == 2
    types("yes")
    status, output, errors = run(link, "--withdraw")
    assert (status, output) == (0, "")
    assert "You have withdrawn." in errors
    assert Client(link).spent().total_epsilon == pytest.approx(1), "it may have been sent"


def test_what_was_not_sent_is_not_missing(run, types, link, unreachable):
    types("y")
    run(link)
    status, output, errors = run(link, "--status")
    assert (status, output) == (0, "")
    assert errors.strip().endswith("The server has no report from you.")
    unreachable()
    types("y", "2", "1", "", "send")
    assert run(link)[0] == 2
    status, output, errors = run(link, "--status")
    assert (status, output) == (0, "")
    assert " ".join(errors.split()).endswith(
        "The server has no report from you. Yours are on their way. The same command without "
        "--status sends them. Then --status shows them."
    )
    told = json.loads(run(link, "--status", "--json")[1])
    assert told == {
        **{"held": 0, "reports": [], "sketch": None, "sent": False},
        **{"as_sent": True, "missing": 0, "strange": 0},
    }
    unreachable()
    assert run(link, "--yes")[0] == 0
    told = json.loads(run(link, "--status", "--json")[1])
    assert (told["sent"], told["as_sent"], told["held"]) == (True, True, len(told["reports"]))
    assert told["held"] == 2


@pytest.fixture
def again(run, desk, tmp_path):
    """Return a campaign with the questions of one that got reports on t0 and t1, and less noise."""
    file = write(tmp_path / "first.csv", "t0,yes", "t1,no")
    assert run(desk.link(desk.campaign()), "--file", file, "--yes")[0] == 0
    other = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.5)
    return desk.link(desk.campaign(other))


def test_who_is_asked_again_is_told(run, types, again):
    left, _ = types("y", "n")
    status, output, errors = run(again, "--total-epsilon", 9)
    assert (status, left) == (1, [])
    told = " ".join(errors.split())
    assert "This device has reported on 2 of the 3 questions in another campaign," in told
    assert "the losses about it add up." in told
    assert "No answers were sent. --withdraw leaves the campaign." in told
    assert not Client(again).committed
    types("y", "y", "", "", "yes", "send")
    status, output, _ = run(again)
    assert status == 0
    told = "has reported on this question, or on one with the same words, before."
    assert " ".join(output.split()).count(told) == 2
    assert len(Client(again).stored().reports) == 1


def test_who_is_asked_again_and_says_yes_to_all_needs_a_budget(run, again, tmp_path):
    file = write(tmp_path / "mine.csv", "t1,yes", "t2,yes")
    status, _, errors = run(again, "--file", file, "--yes")
    assert status == 2
    assert "1 of the 3 questions" in errors
    assert "Nothing was sent. Set a --total-epsilon, or omit --yes" in errors
    assert not Client(again).committed
    assert run(again, "--file", file, "--yes", "--total-epsilon", 9)[0] == 0


@pytest.fixture
def once_more(run, desk, tmp_path):
    """Return a campaign that asks like one that got reports on t0 and t1."""
    file = write(tmp_path / "first.csv", "t0,yes", "t1,no")
    first = desk.link(desk.campaign())
    assert run(first, "--file", file, "--yes")[0] == 0
    return first, desk.link(desk.campaign())


def test_the_same_report_is_sent_again_and_the_worker_is_told(run, types, once_more):
    first, again = once_more
    left, _ = types("y", "no", "no", "no", "send")
    status, output, errors = run(again, "--total-epsilon", 3)
    assert (status, left) == (0, [])
    assert output.count("This device sends the same report as before") == 2
    told = " ".join(errors.split())
    assert "2 questions had a report from this device before. It sends the same again" in told
    assert "The server may notice that you are the same person as in an earlier campaign." in told
    assert "Sent: 3 reports. This device has used epsilon = 3 of a budget of" in told
    before, after = (
        {one.task: one.value for one in Client(link).sent_reports()} for link in (first, again)
    )
    assert before.items() <= after.items()


def test_a_file_with_questions_that_had_reports_needs_no_budget(run, once_more, tmp_path):
    file = write(tmp_path / "mine.csv", "t0,no", "t1,yes")
    status, output, _ = run(once_more[1], "--file", file, "--yes", "--json")
    assert (status, json.loads(output)["spent"]) == (0, pytest.approx(2))


TWICE = "task,question,n\na,Drugs at all?,1\nb,Drugs at all?,1\nc,Drugs at all?,2\nd,Age?,\n"


@pytest.mark.parametrize("name", ["one-layer", "two-layer"])
def test_copies_are_told_while_asking(run, types, desk, name):
    draft = desk.draft(MECHANISMS[name])
    desk.import_csv(draft["id"], TWICE).raise_for_status()
    desk.client.post(f"/campaigns/{draft['id']}/open").raise_for_status()
    left, _ = types("d", "y", "yes", "no", "no", "yes", "send")
    status, output, errors = run(desk.link(draft["id"]))
    assert (status, left) == (0, [])
    shown, told = " ".join(output.split()), " ".join(errors.split())
    linked = {"one-layer": 2, "two-layer": 3}[name]
    assert f"About a fact that up to {linked} of your answers share" in shown
    assert f" about a fact that {linked} of them share, and " in shown
    assert "2 of the 4 questions are copies of each other." in told
    assert "3 questions have the same words and different data:" in told
    assert "The same question as b." in shown
    assert "The same question as a." in shown
    if name == "one-layer":
        assert re.search("one report, about your first answer in this order: (a, b|b, a)", shown)
        assert "Sent: 4 reports. This device has spent epsilon = 3 in all campaigns." in told
    else:
        assert shown.count("Each gets a report, and all together reveal more.") == 2
    assert max(map(len, output.splitlines())) <= 80


def test_other_questions_are_not_asked_again(run, again, tmp_path):
    file = write(tmp_path / "mine.csv", "t2,yes")
    status, _, errors = run(again, "--file", file, "--yes")
    assert (status, "another campaign" in errors) == (0, False)


def test_a_server_that_holds_something_else_is_told_of(run, server, desk, tmp_path):
    campaign = desk.campaign()
    link = desk.link(campaign)
    file = write(tmp_path / "mine.csv", "t0,yes", "t1,no", "t2,no")
    assert run(link, "--file", file, "--yes")[0] == 0
    report = tables.report.c
    mine = select(report.report_id).where(report.campaign_id == bytes.fromhex(campaign))
    with server.database.write() as connection:
        lost, changed, _ = connection.scalars(mine).all()
        connection.execute(delete(tables.report).where(report.report_id == lost))
        other = update(tables.report).where(report.report_id == changed)
        connection.execute(other.values(value=1 - report.value))
    assert run(link, "--status")[2] == (
        "The server's reports differ from those that this device sent: 2 reports missing or "
        "changed, 1 not sent from here.\n"
    )


def test_withdrawing(run, types, link, tmp_path):
    file = write(tmp_path / "mine.csv", "t0,yes")
    assert run(link, "--file", file, "--yes")[0] == 0
    types("no")
    status, _, errors = run(link, "--withdraw")
    assert (status, "Nothing was changed" in errors) == (1, True)
    assert (
        "doing so because of a report or of your answers reveals more than you agreed to"
        in " ".join(errors.split())
    )
    assert run(link, "--withdraw", "--yes")[0] == 0
    status, _, errors = run(link, "--file", file, "--yes")
    assert status == 2
    assert "you have withdrawn" in errors


def test_withdrawing_from_a_folder_that_never_joined_deletes_nothing_and_says_so(
    run, link, tmp_path
):
    file = write(tmp_path / "mine.csv", "t0,yes")
    assert run(link, "--file", file, "--yes")[0] == 0
    other = tmp_path / "other"
    status, _, errors = run(link, "--folder", other, "--withdraw", "--yes")
    assert status == 2
    assert "has not joined the campaign. Nothing was deleted" in errors
    assert "name it with --folder" in errors
    assert "You have withdrawn" not in errors
    assert not other.exists()
    assert len(Client(link).stored().reports) == 1


def test_a_file_may_still_be_asked_about(run, types, link, tmp_path):
    file = write(tmp_path / "mine.csv", "t0,yes")
    left, prompts = types("y", "n")
    status, _, errors = run(link, "--file", file)
    assert (status, left) == (1, [])
    assert prompts[-1] == "Randomize and send 1 answer? [y/N] "
    assert "Nothing was sent." in errors


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["t0,perhaps"], "task 't0': the answer is outside the domain"),
        (["t0,yes", "t0,no"], "row 1: task 't0' occurs twice"),
        ([",perhaps"], "row 0: a task is missing"),
        (["t9,yes"], "task 't9' is not one of the 3 tasks"),
        (["t0,perhaps,twice"], "must be a table in CSV, JSON Lines or Parquet with columns task"),
    ],
)
def test_errors_are_one_line_and_hold_no_answer(run, link, tmp_path, rows, told):
    file = write(tmp_path / "mine.csv", *rows)
    status, _, errors = run(link, "--file", file, "--yes")
    [line] = [line for line in errors.splitlines() if line.startswith("quietcrowd:")]
    assert status == 2
    assert told in line
    assert "perhaps" not in errors


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--status", "--withdraw"), "use one of --status and --withdraw"),
        (("--json",), "--json requires"),
        (("--withdraw", "--json"), "--json requires --status, or --file and --yes"),
        (("--total-epsilon", "-1"), "budget must be a finite number"),
        (
            ("--total-epsilon", "2", "--file", "FILE", "--yes"),
            "would increase it to 3. Nothing was sent",
        ),
        (("--file", "none.csv", "--yes"), "none.csv: there is no such file"),
        (("--status",), "join it first"),
    ],
)
def test_what_goes_wrong_is_one_line(run, link, tmp_path, words, told):
    file = write(tmp_path / "mine.csv", "t0,yes", "t1,yes", "t2,yes")
    words = [file if word == "FILE" else word for word in words]
    status, _, errors = run(link, *words)
    assert status == 2
    assert told in errors.strip().splitlines()[-1]


def test_a_link_that_is_none_is_not_repeated_whole(run):
    status, _, errors = run("https://example.org/x#i=qci_" + 43 * "a")
    assert status == 2
    assert "qci_a" not in errors
    assert "the link must have the form" in errors


def test_the_help_shows_examples(run):
    status, output, _ = run("--help")
    assert status == 0
    assert "quietcrowd worker answer LINK --file mine.csv --yes" in " ".join(output.split())
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.slow
def test_a_server_that_is_gone_costs_no_answers(run, tmp_path, start, monkeypatch):
    server = start()
    desk = new_desk(server)
    link = desk.link(desk.campaign())
    file = write(tmp_path / "mine.csv", "t0,yes")
    real = CampaignFolder.keep_upload

    def keep_upload(folder, content, record):
        real(folder, content, record)
        server.stop()

    monkeypatch.setattr(CampaignFolder, "keep_upload", keep_upload)
    monkeypatch.setattr("quietcrowd.campaign.device.http_client.FIRST_PAUSE", 1e9)
    status, _, errors = run(link, "--file", file, "--yes")
    assert status == 2
    assert "Your reports are on their way. The same command sends them again" in errors
    assert "cannot be reached" in errors.strip().splitlines()[-1]
    assert Client(link).committed


@pytest.fixture
def start(tmp_path):
    def make():
        database = f"sqlite:///{tmp_path}/gone.db"
        return Running(
            Settings(database=database, infer=False, requests_per_second=0, joins_per_minute=0)
        ).start()

    return make


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name",
    [
        "laplace with a bit",
        *map(nightly, ("one-layer", "matrix factorisation, ridge")),
    ],
)
def test_a_device_loads_nothing_that_infers_draws_or_stores(program, desk, tmp_path, name):
    mechanism = MECHANISMS[name]
    made = desk.link(desk.campaign(mechanism))
    given = write(tmp_path / "mine.csv", *(f"t{place},{place}" for place in range(3)))
    if isinstance(mechanism.domain, qc.Categorical):
        write(given, "t0,yes", "t1,no", "t2,yes")
    code = f"""
import sys
from quietcrowd.commands.app import run
for words in (["--file", {str(given)!r}, "--yes"], ["--status"], ["--withdraw", "--yes"]):
    assert run(["worker", "answer", {made!r}, *words]) == 0
print(*sys.modules)
"""
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    _, output, _ = program(sys.executable, "-c", code, env=environment).finished(check=True)
    loaded = {module.partition(".")[0] for module in output.splitlines()[-1].split()}
    assert loaded & needed_by_the_library() <= installed_by_workers()


ROOT = Path(__file__).parents[3]
HTTP = ROOT / "docs" / "reference" / "http.md"


def needed_by_the_library():
    """Return what the library and its server need.

    But for Pydantic and pandas, which Typer and PyArrow load where they are.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = chain.from_iterable(project["optional-dependencies"].values())
    named = [re.match("[a-z-]+", one)[0] for one in [*project["dependencies"], *extras]]
    return {name.replace("-", "_") for name in named} - {"pandas", "pydantic"}


def test_the_client_of_the_page_on_http_answers(desk, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    [block] = re.findall(r"^```py\n(.*?)^```$", HTTP.read_text(), re.MULTILINE | re.DOTALL)
    names = {"link": desk.link(desk.campaign())}
    exec(compile(block, HTTP.name, "exec"), names)
    assert "About one answer" in capsys.readouterr().out
    assert len(names["client"].sent_reports()) == 2


def installed_by_workers():
    """Return what docs/reference/http.md says that a worker installs."""
    page = HTTP.read_text()
    [line] = re.findall(r"^pip install (attrs [a-z -]+)$", page, re.MULTILINE)
    return {one.replace("-", "_") for one in line.split()}


def test_a_worker_is_asked_some_of_the_questions(run, types, desk):
    campaign = desk.campaign(tasks=5, answers_per_participant=2, allotment="random")
    _, prompts = types("y", "yes", "no", "send")
    status, output, errors = run(desk.link(campaign))
    assert status == 0, errors
    told = " ".join(output.split())
    assert "5 questions; you are asked 2 of them." in told
    assert "You answered 2 of 2 questions." in told
    assert len(prompts) == 4
    assert "Sent: 2 reports." in errors


def test_answers_to_other_questions_are_left_out_and_told(run, desk, tmp_path):
    campaign = desk.campaign(tasks=5, answers_per_participant=2, allotment="random")
    file = write(tmp_path / "a.csv", *(f"t{place},yes" for place in range(5)))
    status, output, errors = run(desk.link(campaign), "--file", file, "--yes", "--json")
    assert status == 0, errors
    assert "Dropped 3 answers to questions that you are not asked." in " ".join(errors.split())
    assert json.loads(output)["accepted"] == 2
