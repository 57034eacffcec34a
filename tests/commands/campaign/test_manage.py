"""``quietcrowd campaign ...``, against a server."""

import json
from xml.etree import ElementTree

import httpx
import pytest
from tests.campaign.promises import PROMISES, WORDS

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.formats.platforms.label_studio_config import read_label_config

TASKS = 'task,question,gold\na,"Is it\na bird?",yes\nb,B?,\nc,C?,\n'


@pytest.fixture
def run(run):
    """Return a way to run a command; it gives what is printed, or the error."""

    def command(*words: object) -> tuple[int, str, str]:
        status, output, errors = run(*words)
        return status, output.strip(), errors

    return command


@pytest.mark.nightly
def test_a_campaign_from_the_first_command_to_the_last(run, at_desk, server, tmp_path):
    file = tmp_path / "birds.csv"
    file.write_text(TASKS)
    made = run(
        "campaign", "create", "Birds", "--tasks", file, "--labels", "no,yes", "-e", 2,
        "--method", "majority", "--max-linked", 2, *WORDS,
    )  # fmt: skip
    assert made[0] == 0, made
    one = made[1]
    draft = at_desk.client.get(f"/campaigns/{one}").json()
    assert (draft["tasks"], draft["linked"]) == (3, 2)
    opened = run("campaign", "open", one)
    assert opened[0] == 0
    assert "50 % sure of it before" in opened[2]
    links = run("campaign", "invites", "create", one, "--count", 3, "--local")[1].splitlines()
    for link in links:
        address, invite = link.split("#i=")
        assert address == f"{server.url}/j/{one}"
        worker = at_desk.guest(one)
        at_desk.join(worker, invite).raise_for_status()
        worker.send_values(1, 0, 1)
    closed = run("campaign", "close", one)
    assert "9 reports of 3 workers" in closed[2]
    refused = run("campaign", "export", one, "--json")
    assert refused[0] == 2
    assert "There are no results yet" in refused[2]
    Inferrer(server.database).infer(bytes.fromhex(one))
    results = run("campaign", "export", one, "--json")
    assert json.loads(results[1])["reports"] == 9
    assert "assumption: the campaign's method, MajorityVote, ignores the noise" in results[2]
    reports = ("campaign", "export", one, "--content", "reports", "-o")
    for name in ("r.jsonl", "r.csv", "r.csv.gz", "r.parquet", "r.json"):
        written = run(*reports, tmp_path / name)
        assert written[0] == 0, written
        assert len(qc.read_reports(tmp_path / name)) == 9
    platforms = {
        **{"mturk": "m.csv", "toloka": "t.tsv", "label-studio": "l.json"},
        **{"label-studio-min": "n.json", "label-studio-csv": "o.csv"},
    }
    for kind, name in platforms.items():
        written = run(*reports, tmp_path / name, "--format", kind)
        assert written[0] == 0, written
        assert (tmp_path / f"{name}.mechanism.json").exists()
        assert len(qc.read_reports(tmp_path / name)) == 9
    for name in ("truths.csv", "truths.jsonl", "truths.json"):
        written = run("campaign", "export", one, "-o", tmp_path / name)
        assert written[0] == 0, written
        assert len(qc.read_truths(tmp_path / name)) == 3
    refused = run("campaign", "export", one, "-o", tmp_path / "t.parquet")
    assert (refused[0], "a file of truths must end in" in refused[2]) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("campaign", "open", "f" * 32),
            "the server rejected the request: The resource does not exist",
        ),
        (("campaign", "open", "Birds"), "a campaign's id is 32 hexadecimal digits; got 'Birds'"),
        (("campaign", "delete", "F" * 32), "a campaign's id is 32 hexadecimal digits"),
        (("campaign", "export", "f" * 32, "--json", "--key", "qck_wrong"), "missing or unknown"),
        (("campaign", "close", "f" * 32, "--key", ""), "set the requester's key"),
        (("campaign", "close", "f" * 32, "--server", "http://127.0.0.1:1"), "cannot be reached"),
        (("campaign", "close", "f" * 32, "--server", "http://10.0.0.1:1"), "without encryption"),
        (
            ("campaign", "close", "f" * 32, "--server", "crowd.example"),
            "must have the form https://example.org",
        ),
        (("campaign", "export", "f" * 32, "-o", "reports.dat"), "the name must end in one of .csv"),
        (("campaign", "export", "f" * 32, "-o", "truths.csv"), "The resource does not exist"),
        (("campaign", "export", "f" * 32), "use one of --output FILE and --json"),
        (("campaign", "export", "f" * 32, "-o", "t.csv", "--json"), "use one of --output FILE"),
        (("campaign", "export", "f" * 32, "--content", "reports", "--json"), "require --output"),
        (
            ("campaign", "create", "T", "--tasks", "tasks.txt", "--labels", "no,yes"),
            "must end in .csv, .tsv",
        ),
        (
            ("campaign", "create", "T", "--tasks", "none.csv", "--labels", "no,yes"),
            "there is no such file",
        ),
        (
            ("admin", "backup", "copy.db", "--database", "sqlite:///none.db"),
            "none.db does not exist",
        ),
        (
            ("admin", "backup", "copy.db", "--database", "postgresql://host/name"),
            "pg_dump|be copied",
        ),
        (("admin", "create-key", " ", "--database", "sqlite:///new.db"), "must not be empty"),
    ],
)
def test_what_goes_wrong_is_one_sentence(run, at_desk, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    assert at_desk
    status, printed, error = run(*words)
    assert (status, printed) == (2, "")
    assert any(one in error for one in told.split("|")), error
    assert len(error.strip().splitlines()) == 1


def test_all_campaigns_are_listed_by_title(run, at_desk, monkeypatch):
    monkeypatch.setattr("quietcrowd.commands.campaign.manage._PAGE", 2)
    assert run("campaign", "list") == (
        0, "", "There are no campaigns. quietcrowd campaign create creates one.\n"
    )  # fmt: skip
    assert run("campaign", "list", "--json")[1] == "[]"
    titles = ["a " + "long " * 30, "Owls\u202e [bold]", "Tits"]
    made = [at_desk.draft(title=title)["id"] for title in reversed(titles)]
    at_desk.import_csv(made[0], TASKS).raise_for_status()
    status, printed, errors = run("campaign", "list")
    assert (status, errors) == (0, "")
    assert all(one in printed for one in made)
    assert max(map(len, printed.splitlines())) <= 80
    assert printed.splitlines()[-1].split() == [made[0], "draft", "Tits", "3", "0", "0"]
    assert "\u202e" not in printed
    assert "[bold]" in printed
    found = json.loads(run("campaign", "list", "--json")[1])
    assert [one["id"] for one in found] == sorted(made, key=lambda one: -made.index(one))


def test_a_campaign_is_deleted_by_who_says_yes(run, at_desk, monkeypatch):
    one, other = at_desk.campaign(join_mode="open"), at_desk.draft()["id"]
    at_desk.worker(one).send_values(1, 0, 1)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    status, _, told = run("campaign", "delete", one)
    assert status == 1
    assert "(open): 3 tasks, 3 reports of 1 workers." in told
    assert "Nothing was deleted." in told
    monkeypatch.setattr("builtins.input", lambda _: "y")
    assert run("campaign", "delete", one)[0] == 0
    assert [held["id"] for held in json.loads(run("campaign", "list", "--json")[1])] == [other]
    assert run("campaign", "delete", other, "--yes")[0] == 0
    assert run("campaign", "list", "--json")[1] == "[]"


def test_a_slash_behind_a_server_is_one_too_many(run, at_desk, server):
    one = at_desk.draft()["id"]
    at_desk.import_csv(one, TASKS).raise_for_status()
    opened = run("campaign", "open", one, "--server", f"{server.url}/")
    assert opened[0] == 0
    assert f"{server.url}/dashboard/{one}" in opened[2]
    link = run("campaign", "invites", "create", one, "--local", "--server", f"{server.url}/")[1]
    assert link.startswith(f"{server.url}/j/{one}#i=")


def test_a_key_for_this_machine_goes_through_no_proxy(run, at_desk, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert "the server rejected the" in run("campaign", "open", at_desk.draft()["id"])[2]


BROKEN = '{"task": "2", "q": "a"}\n{"q": "b"}\n'
"""The second task is numbered as the first one is called, which the server finds out."""


def test_a_draft_that_gets_no_tasks_is_deleted(run, at_desk, tmp_path):
    (tmp_path / "t.jsonl").write_text(BROKEN)
    words = ("--tasks", tmp_path / "t.jsonl", "--labels", "no,yes")
    status, printed, errors = run("campaign", "create", "T", *words)
    assert (status, printed) == (2, "")
    assert "the server rejected the request" in errors
    assert at_desk.client.get("/campaigns").json()["items"] == []


def test_a_known_truth_that_is_no_answer_is_told_with_its_row(run, at_desk, tmp_path):
    (tmp_path / "t.csv").write_text(TASKS + "d,D?,perhaps\n")
    words = ("--tasks", tmp_path / "t.csv", "--labels", "no,yes")
    status, _, errors = run("campaign", "create", "T", *words)
    assert status == 2
    assert "t.csv: row 5: gold must be one of the campaign's possible answers" in errors
    assert at_desk.client.get("/campaigns").json()["items"] == []


def test_a_draft_that_cannot_be_deleted_is_named(run, at_desk, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise httpx.ConnectError("gone")

    monkeypatch.setattr(httpx.Client, "delete", fail)
    (tmp_path / "t.jsonl").write_text(BROKEN)
    words = ("--tasks", tmp_path / "t.jsonl", "--labels", "no,yes")
    status, _, errors = run("campaign", "create", "T", *words)
    [draft] = at_desk.client.get("/campaigns").json()["items"]
    assert status == 2
    assert f"The draft {draft['id']} stays on the server" in errors


@pytest.mark.grid
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.tsv", "id\tq\na\tA?\nb\tB?\n"),
        ("t.json", '[{"id": "a", "data": {"q": "A?"}, "annotations": []}, {"id": "b", "q": "B?"}]'),
        ("t.jsonl", '{"external_id": "a", "q": "A?"}\n{"id": "b", "q": "B?"}\n'),
    ],
)
def test_tasks_come_from_files_of_several_formats(run, at_desk, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    words = ("--tasks", tmp_path / name, "--labels", "no,yes")
    status, one, errors = run("campaign", "create", "T", *words)
    assert status == 0, errors
    tasks = at_desk.client.get(f"/campaigns/{one}/tasks").json()["items"]
    assert [(task["task"], task["data"]) for task in tasks] == [
        ("a", {"q": "A?"}),
        ("b", {"q": "B?"}),
    ]


@pytest.mark.grid
@pytest.mark.parametrize(
    ("words", "kept"),
    [([], True), (["--no-drafts"], False), (["--open-to-all", "--drafts"], True)],
)
def test_a_requester_says_whether_devices_may_keep_drafts(run, at_desk, tmp_path, words, kept):
    (tmp_path / "t.csv").write_text(TASKS)
    given = ("--tasks", tmp_path / "t.csv", "--labels", "no,yes", *words)
    status, one, errors = run("campaign", "create", "T", *given)
    assert status == 0, errors
    assert at_desk.client.get(f"/campaigns/{one}").json()["drafts"] is kept


@pytest.mark.parametrize(("epsilon", "told"), [(0, True), (0.1, False)])
def test_a_campaign_that_can_find_nothing_is_told(run, at_desk, tmp_path, epsilon, told):
    (tmp_path / "t.csv").write_text(TASKS)
    words = ("--tasks", tmp_path / "t.csv", "--labels", "no,yes", "-e", epsilon)
    status, one, errors = run("campaign", "create", "T", *words)
    assert status == 0, errors
    assert at_desk.client.get(f"/campaigns/{one}").status_code == 200
    assert ("Epsilon is 0 or almost 0: reports carry no information" in errors) == told


def test_a_config_of_label_studio_goes_in_and_comes_out(run, at_desk, server, tmp_path):
    asked = '<Choices name="q" toName="t"><Choice value="no"/><Choice value="yes"/></Choices>'
    (tmp_path / "c.xml").write_text(f'<View><Text name="t" value="$question"/>{asked}</View>')
    (tmp_path / "t.csv").write_text(TASKS)
    words = ("--tasks", tmp_path / "t.csv", "--label-config", tmp_path / "c.xml")
    status, one, errors = run("campaign", "create", "T", *words, "--open-to-all", *WORDS)
    assert status == 0, errors
    domain = qc.Categorical(["no", "yes"])
    held = at_desk.client.get(f"/campaigns/{one}").json()["mechanism"]["domain"]
    assert held == domain.to_dict()
    run("campaign", "open", one)
    at_desk.worker(one).send_values(1, 0, 1)
    Inferrer(server.database).infer(bytes.fromhex(one))
    words = ("campaign", "export", one, "--content")
    for name, shown in (("reports", []), ("truths", ["$question"])):
        place, tasks = tmp_path / f"{name}.xml", tmp_path / f"{name}.json"
        written = run(*words, name, "-o", tasks, "--label-config", place)
        assert written[0] == 0, written
        assert read_label_config(place) == domain
        texts = [tag.get("value") for tag in ElementTree.parse(place).iter("Text")]
        assert texts == ["$task", *shown]
        [data] = {tuple(task["data"]) for task in json.loads(tasks.read_text())}
        assert {text.removeprefix("$") for text in texts} <= set(data)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("create", "T", "--tasks", "t.csv", "--label-config", "c.xml", "--labels", "a,b"),
         "use --label-config or one of --labels, --levels, --between"),
        (("create", "T", "--tasks", "t.csv", "--label-config", "c.xml"), "c.xml: <TextArea> is no"),
        (("export", "f" * 32, "-o", "r.jsonl", "--label-config", "d.xml"), "that ends in .json"),
        (("export", "f" * 32, "-o", "r.json", "--label-config", "r.json"), "for two outputs"),
    ],
)  # fmt: skip
def test_what_goes_wrong_with_a_config_is_one_sentence(
    run, at_desk, tmp_path, monkeypatch, words, told
):
    monkeypatch.chdir(tmp_path)
    assert at_desk
    (tmp_path / "t.csv").write_text(TASKS)
    (tmp_path / "c.xml").write_text('<View><TextArea name="q"/></View>')
    status, printed, error = run("campaign", *words)
    assert (status, printed) == (2, "")
    assert any(one in error for one in told.split("|")), error
    assert len(error.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.glob("*.xml")) == ["c.xml"]


@pytest.mark.grid
@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            "task;question;gold\nb1;Tit?;yes\nb2;Jay?;\nb3;Owl?;no\n",
            "3 tasks, named by task: b1, b2, ...; 2 with known truths; workers see: question",
        ),
        (
            "name,truth\nb1,yes\n",
            "1 task, numbered, as the file has no column task, external_id or id (see "
            "--task-column); 0 with known truths; workers see: name, truth",
        ),
    ],
)
def test_a_note_tells_what_a_file_of_tasks_was_taken_for(run, at_desk, tmp_path, table, told):
    assert at_desk
    (tmp_path / "t.csv").write_text(table)
    words = ("--tasks", tmp_path / "t.csv", "--labels", "no,yes")
    assert run("campaign", "create", "T", *words, *WORDS)[2].splitlines()[-1] == told


def test_tasks_that_differ_in_numbers_alone_are_told_unless_declared(run, at_desk, tmp_path):
    assert at_desk
    (tmp_path / "t.csv").write_text("id,question,picture\na,Owl?,1\nb,Owl?,2\nc,Owl?,3\n")
    words = ("--tasks", tmp_path / "t.csv", "--labels", "no,yes", *WORDS)
    for more, told in (
        ((), "Up to 3 answers of a person count as answers to one question"),
        (("--max-answers", 2), "Up to 2 answers of a person count as answers to one question"),
        (("--max-linked", 3), None),
    ):
        status, _, errors = run("campaign", "create", "T", *words, *more)
        assert status == 0
        assert ("count as answers to one question" in errors) == (told is not None)
        assert told is None or told in errors


def test_tasks_that_look_alike_are_named(run, at_desk, tmp_path):
    assert at_desk
    forms = ("Owl?", "\u041ewl?", "Ow\u0406?", "Owl!", "Owlet?")
    rows = "".join(f"t{place},{form}\n" for place, form in enumerate(forms))
    (tmp_path / "t.csv").write_text("id,question\n" + rows, "utf-8")
    words = ("--tasks", tmp_path / "t.csv", "--labels", "no,yes", *WORDS)
    for more in ((), ("--max-linked", 4)):
        status, _, errors = run("campaign", "create", "T", *words, *more)
        assert status == 0
        assert "Questions t0, t1, t2 and 1 more look alike" in " ".join(errors.split())


def test_a_broken_file_of_tasks_is_told_with_its_place(run, at_desk, tmp_path):
    assert at_desk
    (tmp_path / "t.json").write_text('[{"id": 1},\n {"id" 2}]')
    words = ("--tasks", tmp_path / "t.json", "--labels", "no,yes")
    status, _, errors = run("campaign", "create", "T", *words)
    assert (status, "t.json: invalid JSON" in errors, "line 2" in errors) == (2, True, True)


def test_what_workers_are_told_is_said_when_a_campaign_is_made(run, at_desk, tmp_path):
    (tmp_path / "t.csv").write_text(TASKS)
    words = ("campaign", "create", "T", "--tasks", tmp_path / "t.csv", "--labels", "no,yes")
    status, one, errors = run(*words)
    assert status == 0, errors
    assert "Minimum batch size per release: 5 new workers." in " ".join(errors.split())
    assert "remain at closing, their reports are never released" in " ".join(errors.split())
    assert "without --requester, --contact, --purpose. Create it again" in " ".join(errors.split())
    status, _, errors = run("campaign", "open", one)
    assert status == 2
    assert "campaign create has the options --requester, --contact, --purpose" in " ".join(
        errors.split()
    )
    status, one, errors = run(*words, *WORDS, "--min-batch", 3, "--completion-code", "C1 É")
    assert "Minimum batch size per release: 3 new workers." in " ".join(errors.split())
    assert "cannot be opened" not in errors
    assert run("campaign", "open", one)[0] == 0
    held = at_desk.client.get(f"/campaigns/{one}").json()
    assert {name: held[name] for name in PROMISES} == {**PROMISES, "at_least": 3}
    assert held["completion_code"] == "C1 É"


@pytest.mark.parametrize(
    "words", [("--min-batch", 0), ("--retention-days", 0), ("--retention-days", 9_999)]
)
def test_what_cannot_be_promised_is_refused(run, tmp_path, words):
    (tmp_path / "t.csv").write_text(TASKS)
    made = ("campaign", "create", "T", "--tasks", tmp_path / "t.csv", "--labels", "no,yes", *words)
    status, _, errors = run(*made)
    assert status == 2
    assert words[0] in errors


def test_each_worker_is_given_some_of_the_tasks(run, at_desk, tmp_path):
    (tmp_path / "t.csv").write_text(TASKS)
    words = ("campaign", "create", "T", "--tasks", tmp_path / "t.csv", "--labels", "no,yes", *WORDS)
    status, one, errors = run(*words, "--answers-per-worker", 2)
    assert status == 0, errors
    assert "You are asked 2 of the 3 questions" in " ".join(run("campaign", "open", one)[2].split())
    held = at_desk.client.get(f"/campaigns/{one}").json()
    assert (held["answers_per_participant"], held["allotment"]) == (2, "random")


@pytest.mark.nightly
def test_tasks_can_be_handed_out_as_results_suggest(run, at_desk, tmp_path):
    (tmp_path / "t.csv").write_text(TASKS)
    words = ("campaign", "create", "T", "--tasks", tmp_path / "t.csv", "--labels", "no,yes", *WORDS)
    some = ("--answers-per-worker", 2, "--assign")
    status, one, errors = run(*words, *some, "adaptive")
    assert status == 0, errors
    assert at_desk.client.get(f"/campaigns/{one}").json()["allotment"] == "suggested"
    _, even, _ = run(*words, *some, "evenly")
    assert at_desk.client.get(f"/campaigns/{even}").json()["allotment"] == "random"
    for more, told in (
        (("--assign", "adaptive"), "--assign requires --answers-per-worker"),
        ((*some, "adaptive", "--method", "majority"), "majority does not estimate the value"),
        ((*some, "chosen"), "--assign"),
    ):
        status, _, errors = run(*words, *more)
        assert (status, told in " ".join(errors.split())) == (2, True), errors


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--answers-per-worker", 4), "must be 1 to 3 of 3 tasks; got 4"),
        (
            ("--answers-per-worker", 2, "--max-answers", 2),
            "use --max-answers, or --answers-per-worker",
        ),
        (("--answers-per-worker", 2, "-m", "matrix-factorization"), "reports every task"),
    ],
)
def test_tasks_that_cannot_be_handed_out_are_told_before_a_draft_is_made(
    run, at_desk, tmp_path, more, told
):
    (tmp_path / "t.csv").write_text(TASKS)
    domain = ("--between", "0,10") if "-m" in more else ("--labels", "no,yes")
    (tmp_path / "n.csv").write_text("task\na\nb\nc\n")
    file = tmp_path / ("n.csv" if "-m" in more else "t.csv")
    status, _, errors = run("campaign", "create", "T", "--tasks", file, *domain, *more)
    assert (status, told in " ".join(errors.split())) == (2, True), errors
    assert at_desk.client.get("/campaigns").json()["items"] == []


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("rater,picture,verdict\nr1,p1,no\nr2,p1,yes\n", "row 2: its column rater identifies"),
        ("who,picture,verdict\nx,p1,No\ny,p1,YES\n", "row 2: column 'verdict' contains only"),
        ("task,who,says\nt1,x,bird\nt1,y,plane\n", "rows 2 and 3 have the same id"),
    ],
)
def test_answers_are_not_taken_for_tasks(run, at_desk, tmp_path, table, told):
    (tmp_path / "t.csv").write_text(table)
    words = ("--tasks", tmp_path / "t.csv", "--labels", "no,yes")
    status, printed, errors = run("campaign", "create", "T", *words, *WORDS)
    assert (status, printed, told in errors, "--shown-columns" in errors) == (2, "", True, True), (
        errors
    )
    assert len(errors.strip().splitlines()) == 1
    assert at_desk.client.get("/campaigns").json()["items"] == []


def test_columns_that_are_named_are_what_workers_see(run, at_desk, tmp_path):
    table = "Picture ID,guess,rater\np7,no,ann\np8,yes,bob\n"
    (tmp_path / "t.csv").write_text(table)
    words = ("--tasks", tmp_path / "t.csv", "--labels", "no,yes", *WORDS)
    status, one, errors = run(
        "campaign",
        "create",
        "T",
        *words,
        "--shown-columns",
        "rater, guess",
        "--task-column",
        "Picture ID",
    )
    assert (status, errors.splitlines()[-1]) == (
        0,
        "2 tasks, named by Picture ID: p7, p8; 0 with known truths; workers see: guess, rater",
    )
    held = at_desk.client.get(f"/campaigns/{one}/tasks").json()["items"]
    assert [(task["task"], task["data"]) for task in held] == [
        ("p7", {"guess": "no", "rater": "ann"}),
        ("p8", {"guess": "yes", "rater": "bob"}),
    ]
    for named, told in (
        (("--shown-columns", "gues"), "--shown-columns names 'gues', which is not a column"),
        (
            ("--shown-columns", "guess", "--task-column", "ID"),
            "the column 'ID' with the names of tasks is missing",
        ),
    ):
        status, _, errors = run("campaign", "create", "T", *words, *named)
        assert (status, told in " ".join(errors.split())) == (2, True), errors


def test_a_link_to_the_dashboard_holds_no_key_and_works_once(run, at_desk, server):
    one = at_desk.draft()["id"]
    status, link, told = run("campaign", "dashboard", one, "--server", f"{server.url}/")
    assert status == 0
    assert "once, within 10 minutes" in told
    start, code = link.strip().split("#c=")
    assert start == f"{server.url}/dashboard/{one}"
    assert at_desk.key not in link
    answers = [
        server.client(code).post(f"/campaigns/{one}/dashboard-tokens").status_code for _ in "ab"
    ]
    assert answers == [201, 401]
    assert "no such campaign" in run("campaign", "dashboard", "0" * 32)[2]
