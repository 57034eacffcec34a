"""``quietcrowd lab budget`` as a user meets it."""

import io
import json
import math
import sys
from functools import partial

import attrs
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.campaign.terms.rounds import Rounds
from quietcrowd.formats import write_table
from quietcrowd.formats.reports import report_note
from quietcrowd.mechanisms import MatrixFactorization, Mixture
from quietcrowd.polls import shuffled_guarantee


@pytest.fixture
def run(run):
    """Return a function that runs the command and gives (status, output, errors)."""
    return partial(run, "lab", "budget")


@pytest.fixture
def files(tmp_path):
    """Return files of two campaigns with the same workers, 5 answers each or 20 tasks."""
    crowd = qc.make_crowd(tasks=20, workers=25, answers_per_task=5, random_state=3)
    domain = crowd.answers.domain
    mechanisms = (
        qc.RandomizedResponse(domain=domain, epsilon=1.0),
        qc.RandomizedResponse(domain=domain, epsilon=0.5, missing="category"),
    )
    paths = [tmp_path / "spring.parquet", tmp_path / "autumn.csv"]
    for path, mechanism in zip(paths, mechanisms, strict=True):
        qc.write_reports(mechanism.randomize(crowd.answers), path)
    return paths


def test_one_file_into_a_pipe(run, files):
    status, output, errors = run(files[0])
    frame = pd.read_csv(io.StringIO(output))
    assert status == 0
    assert frame["total_epsilon"].tolist() == pytest.approx(frame["reports"].tolist())
    assert frame["campaigns"].tolist() == [1] * len(frame)
    most = frame["reports"].max()
    assert f"epsilon = 1 for one answer and {most} in total" in errors
    assert "100 reports, 1 campaign." in errors


@pytest.mark.slow
def test_several_files_with_a_delta_and_a_budget(run, files):
    status, output, errors = run(*files, "--delta", "1e-6", "--total-epsilon", 12)
    frame = pd.read_csv(io.StringIO(output))
    plain = pd.read_csv(io.StringIO(run(*files)[1]))
    assert status == 0
    assert len(frame) == 25
    assert (frame["total_epsilon"] <= plain["total_epsilon"]).all()
    over = frame["total_epsilon"] > 12
    assert frame["over_budget"].tolist() == over.tolist()
    assert f"{over.sum()} of 25 workers exceed the budget of 12." in errors
    assert "A worker's privacy loss is at most 1.5 for one answer and " in errors
    assert " in total, each with probability at least 1 - 1e-06." in errors
    assert "composition with other releases: (epsilon, delta) = (1.5, 1e-06) and (" in errors
    assert (frame["total_tail"] <= plain["total_epsilon"]).all()


def test_what_is_rarely_exceeded_is_more_than_the_epsilon_of_the_pair(run, tmp_path):
    domain = qc.Categorical(["no", "yes"])
    rows = pd.DataFrame({"task": range(100), "worker": "ann", "label": "yes"})
    answers = qc.Answers.from_frame(rows, domain)
    path = tmp_path / "reports.csv"
    qc.write_reports(qc.RandomizedResponse(domain=domain, epsilon=0.1).randomize(answers), path)
    _, output, errors = run(path, "--delta", "1e-5")
    (row,) = pd.read_csv(io.StringIO(output)).to_dict("records")
    assert row["total_epsilon"] == pytest.approx(4.3068, abs=1e-4)
    assert row["total_tail"] == pytest.approx(4.7)
    assert "0.1 for one answer and 4.7 in total" in errors


def test_simulated_reports_are_told_once(run, files):
    reports = qc.read_reports(files[0])
    simulated = files[0].with_name("simulated.parquet")
    qc.write_reports(attrs.evolve(reports, simulated=True), simulated)
    assert "protect no one" not in run(*files)[2]
    status, _, errors = run(*files, simulated)
    assert status == 0
    assert errors.count("protect no one") == 1
    assert "note: the reports of '3' are simulated and protect no one" in errors


def test_json(run, files):
    status, output, _ = run(*files, "--json", "--total-epsilon", 10.9)
    told = json.loads(output)
    assert status == 0
    assert told["most"]["answer_epsilon"] == pytest.approx(1.5)
    assert told["budget"] == 10.9
    rows = pd.DataFrame(told["workers"])
    assert told["most"]["total_epsilon"] == rows["total_epsilon"].max()
    assert rows["over_budget"].tolist() == (rows["total_epsilon"] > 10.9).tolist()


def test_three_files_of_a_tenth_are_within_three_tenths(run, tmp_path):
    crowd = qc.make_crowd(kind="sensors", tasks=1, workers=2)
    mechanism = qc.LaplaceMechanism(domain=crowd.answers.domain, epsilon=0.1, fill=None)
    paths = [tmp_path / f"{place}.csv" for place in range(3)]
    for path in paths:
        qc.write_reports(mechanism.randomize(crowd.answers), path)
    for budget, over in ((0.3, False), (math.nextafter(0.3, 0), True)):
        output = run(*paths, "--total-epsilon", budget)[1]
        assert pd.read_csv(io.StringIO(output))["over_budget"].tolist() == [over, over]


def test_a_terminal_gets_those_who_spent_most(run, files, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    status, output, _ = run(*files, "--total-epsilon", 14)
    assert status == 0
    assert "… and 5 more" in output
    assert "†" in output
    assert "in total" in output


def test_simulations_are_told(run, tmp_path):
    crowd = qc.make_crowd(kind="sensors", tasks=3, workers=4)
    mechanism = qc.PiecewiseMechanism(domain=crowd.answers.domain, epsilon=1.0)
    path = tmp_path / "reports.jsonl"

    qc.write_reports(mechanism.simulate(crowd.answers, random_state=1), path)
    status, output, errors = run(path, "--json")
    assert status == 0
    assert json.loads(output)["most"]["total_epsilon"] > 0
    assert "protect no one" in errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--delta", "1"), "delta must be at least 0 and below 1"),
        (("--delta", "-1"), "--delta must be a finite number, at least 0"),
        (("--total-epsilon", "-1"), "--total-epsilon must be a finite number, at least 0"),
    ],
)
def test_messages(run, files, words, message):
    status, _, errors = run(files[0], *words)
    assert status != 0
    assert message in errors


def test_a_file_is_named_once(run, files):
    status, _, errors = run(files[0], files[0])
    assert status != 0
    assert "named twice" in errors


def test_sketches_cost_what_the_profiles_of_their_tasks_add_up_to(run, tmp_path):
    answers = qc.make_crowd(
        kind="sparse", tasks=100, workers=6, sparsity=0.5, random_state=1
    ).answers
    mechanism = MatrixFactorization(domain=answers.domain, epsilon=1.0, rank=12)
    path = tmp_path / "reports.parquet"
    qc.write_reports(mechanism.randomize(answers), path)
    status, output, _ = run(path)
    frame = pd.read_csv(io.StringIO(output))
    named = mechanism.guarantee(tasks=answers.tasks).total_epsilon
    assert status == 0
    assert frame["reports"].tolist() == [100] * 6
    assert frame["total_epsilon"].tolist() == pytest.approx([named] * 6)
    assert named < 40


def test_budget_of_plain_answers_names_commands_that_take_them(run, folder):
    status, _, errors = run(folder / "answers.csv")
    assert status == 2
    assert "infer, convert --to store and lab rank with --non-private" in errors


def test_a_poll_with_shuffling_has_a_second_number(run, tmp_path):
    domain = qc.Categorical(["no", "yes"])
    frame = pd.DataFrame({"task": "one", "worker": range(60), "label": ["no", "yes"] * 30})
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    path = tmp_path / "poll.parquet"
    qc.write_reports(mechanism.randomize(qc.Answers.from_frame(frame, domain=domain)), path)
    status, output, errors = run(path, "--delta", "1e-4", "--min-honest", 50)
    told = pd.read_csv(io.StringIO(output))
    expected = shuffled_guarantee(mechanism, honest=50, delta=1e-4).epsilon
    assert status == 0
    assert told["shuffled_epsilon"].tolist() == [expected] * 60
    assumed = "This assumes for each file that the shuffler is honest"
    assert errors.index("in total") < errors.index(assumed)
    data = json.loads(run(path, "--delta", "1e-4", "--min-honest", 50, "--json")[1])
    assert data["shuffled"]["honest"] == 50
    assert "honest" in data["shuffled"]["assumption"]
    assert "requires a --delta" in run(path, "--min-honest", 50)[2]
    assert "--min-honest must be 1 to 60" in run(path, "--delta", "1e-4", "--min-honest", 61)[2]


def test_rounds_and_mechanisms_of_a_file_add_up(run, tmp_path):
    """Of a menu each worker is charged for the chosen mechanism, in each round."""
    domain = qc.Categorical(["no", "yes"])
    menu = [qc.RandomizedResponse(domain=domain, epsilon=loss) for loss in (0.5, 4.0)]
    frames = []
    for number in range(3):
        for place, mechanism in enumerate(menu):
            rows = pd.DataFrame({"task": ["a"], "worker": [f"w{place}"], "label": ["no"]})
            frames.append(mechanism.randomize(rows).to_frame().assign(round=number))
    mixture = Mixture(domain=domain, parts=menu)
    note = report_note(mixture, simulated=False)
    write_table(pd.concat(frames), tmp_path / "rounds.csv", note)
    status, output, errors = run(tmp_path / "rounds.csv")
    assert status == 0, errors
    frame = pd.read_csv(io.StringIO(output)).set_index("worker")
    assert frame["total_epsilon"].to_dict() == pytest.approx({"w0": 1.5, "w1": 12.0})
    assert frame["reports"].tolist() == [3, 3]
    assert frame["campaigns"].tolist() == [1, 1]
    assert "window_epsilon" not in frame


def rounds_file(path, sent, rounds):
    """Write what a server exports: `sent` has (round sent, round shown, task) of one worker."""
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
    rows = pd.DataFrame(sent, columns=["sent", "round", "task"]).sort_values("sent")
    frames = [
        mechanism.randomize(group[["task"]].assign(worker="ann", label="no"))
        .to_frame()
        .assign(round=group["round"].iloc[0])
        for _, group in rows.groupby("sent")
    ]
    noted = {"window": rounds.window, "apart": rounds.slots}
    note = report_note(mechanism, simulated=False, rounds=noted)
    write_table(pd.concat(frames, ignore_index=True), path, note)


TERMS = {
    "first": "2026-12-01T00:00:00Z",
    "length": 3_600,
    "count": 12,
    "cap": 12,
    "grace": 900,
    "facts": "fresh",
    "keep": 14,
}
SHOWN_TOGETHER = {3: 5, 4: 5, 6: 9, 7: 9, 8: 9}


@pytest.mark.parametrize("together", [{}, SHOWN_TOGETHER])
@pytest.mark.parametrize(("division", "step"), [("crowd", 3), ("budget", 3), ("crowd", 1)])
def test_losses_of_rounds_and_windows_are_those_of_the_consent(
    run, tmp_path, division, step, together
):
    """A worker answers both questions in all own rounds, some of which are shown together."""
    window = min(3, step)
    rounds = Rounds(**TERMS, window=window, step=step, division=division)
    own = [number for number in range(12) if rounds.is_own(number, 1 if rounds.slots > 1 else None)]
    sent = [(number, together.get(number, number), task) for number in own for task in "ab"]
    rounds_file(tmp_path / "reports.csv", sent, rounds)
    status, output, errors = run(tmp_path / "reports.csv")
    assert status == 0, errors
    (row,) = pd.read_csv(io.StringIO(output)).to_dict("records")
    stated = rounds.losses(2.0)
    found = [row[name] for name in ("round_epsilon", "window_epsilon", "total_epsilon")]
    assert found == pytest.approx([stated.round, stated.window, stated.campaign])
    assert row["reports"] == 2 * rounds.most
    assert f"of any {window} rounds in a row {stated.window:g}" in errors
    assert "The total is for the rounds of the file" in errors


def test_reports_shown_later_count_in_every_window_in_which_they_may_be(run, tmp_path):
    """A report shown with round 4 may be of round 2, next to one of round 1."""
    rounds = Rounds(**TERMS, window=2, step=2, division="budget")
    for shown, largest in ((4, 2.0), (9, 2.0), (1, 1.0)):
        sent = [(1, 1, "a"), *([(4, shown, "a")] if shown > 1 else [])]
        rounds_file(tmp_path / f"{shown}.csv", sent, rounds)
        _, output, _ = run(tmp_path / f"{shown}.csv")
        (row,) = pd.read_csv(io.StringIO(output)).to_dict("records")
        assert row["window_epsilon"] == pytest.approx(largest)
