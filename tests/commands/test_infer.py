"""``quietcrowd infer`` as a user meets it."""

import io
import json

import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.formats import write_table
from quietcrowd.formats.reports import report_note
from quietcrowd.inference import WeightedMean


def test_a_round_from_answers_to_truths(run, folder, tmp_path):
    reports, truths, workers = (tmp_path / n for n in ("r.parquet", "truths.csv", "workers.jsonl"))
    status, output, errors = run(
        "randomize", folder / "answers.csv", "--labels", "no,yes", "-e", 2, "-o", reports
    )
    assert (status, output) == (0, "")
    assert "360 reports written to" in errors
    assert "has a privacy loss of at most epsilon = 2" in errors
    assert not qc.read_reports(reports).simulated
    status, output, errors = run("infer", reports, "-o", truths, "--workers-out", workers)
    assert (status, output) == (0, "")
    assert "60 tasks, 15 workers, 360 answers" in errors
    assert "ignores the noise" not in errors
    assert "; method noise-aware, by default; " in errors
    other = tmp_path / "other.csv"
    status, _, errors = run("infer", reports, "--method", "weighted-vote", "-o", other)
    assert status == 0
    assert "note: WeightedVote ignores the noise" in errors
    assert len(pd.read_csv(truths)) == len(pd.read_csv(other)) == 60
    assert len(pd.read_json(workers, lines=True)) == 15


@pytest.mark.slow
def test_known_truths_stay_and_are_counted(run, folder, tmp_path):
    truths = pd.read_csv(folder / "truth.csv")
    usual = pd.read_csv(io.StringIO(run("infer", folder, "--non-private")[1])).set_index("task")[
        "truth"
    ]
    known = truths.head(3).assign(label=["no" if usual[t] == "yes" else "yes" for t in range(3)])
    known.to_csv(tmp_path / "known.csv", index=False)
    words = ("infer", folder, "--non-private", "--gold", tmp_path / "known.csv")
    status, output, errors = run(*words, "--method", "dawid-skene:one_coin=true")
    assert status == 0
    assert "360 answers; 3 truths known; 0 tied; " in errors
    found = pd.read_csv(io.StringIO(output)).set_index("task")["truth"]
    assert list(found[:3]) == list(known["label"])
    found, without = (
        json.loads(run(*some, "--json")[1]) for some in (words, ("infer", folder, "--non-private"))
    )
    assert found.keys() == without.keys()
    assert found["truths"][0].keys() == without["truths"][0].keys()
    assert found["workers"] != without["workers"]
    assert "truths known" not in run("infer", folder, "--non-private")[2]
    known.head(1).to_csv(tmp_path / "known.csv", index=False)
    assert "; 1 truth known; " in run(*words)[2]


def test_what_infer_writes_can_be_known_truths(run, ratings):
    answers = (ratings / "answers.csv", "--non-private", "--between", "0,9")
    truths = ratings / "truths.csv"
    assert run("infer", *answers, "--method", "median", "-o", truths)[0] == 0
    status, output, errors = run("infer", *answers, "--gold", truths)
    assert status == 0
    assert "20 truths known; " in errors
    found = pd.read_csv(io.StringIO(output))
    assert list(found["truth"]) == pytest.approx(list(pd.read_csv(truths)["truth"]))
    assert (found["standard_error"] == 0).all()


def test_known_truths_of_other_tasks_are_named_and_left_out(run, folder, tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("task,label\n0,yes\nnone,no\n")
    status, _, errors = run("infer", folder, "--non-private", "--gold", path)
    assert status == 0
    assert "known truths of 1 of 2 tasks are dropped" in errors
    assert "'none'" in errors
    assert "1 truth known" in errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "task,label\nnone,no\nx,yes\n",
            "known.csv: line 2 of the file: task 'none' is not in the answers, and "
            "neither is any other task. Use the task names of the answers\n",
        ),
        (
            "task,label\n0,maybe\n",
            "known.csv: line 2 of the file: the truth of task "
            "'0', 'maybe', is outside the domain 'no', 'yes'. Correct it, or delete the row.\n",
        ),
        (
            "task,label\n\n0,\n",
            "line 3 of the file: the truth of task '0' is missing. Delete the row\n",
        ),
        (
            "task,label\n0,NA\n",
            "the truth of task '0' is missing, because 'NA' marks a missing value. Delete the row",
        ),
        (
            'task,label\n0,""\n',
            "line 2 of the file: the truth of task '0' is missing. Delete the row\n",
        ),
        (
            "task,label\n0,yes\n0,yes\n",
            "known.csv: line 3 of the file: task '0' occurs 2 ",
        ),
        ("task,said\n0,yes\n", "column 'label' is missing"),
        ("item,label\n0,yes\n", "column 'task' is missing"),
        ("task,label\n", "known.csv: there are no known truths"),
        ("", "cannot be read as CSV"),
        (None, "known.csv: there is no such file"),
    ],
)
def test_bad_known_truths_are_one_line(run, folder, tmp_path, text, message):
    path = tmp_path / "known.csv"
    if text is not None:
        path.write_text(text)
    status, output, errors = run("infer", folder, "--non-private", "--gold", path)
    assert (status, output) == (2, "")
    assert errors.startswith(f"quietcrowd: error: {path}: ")
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("option", ["-o", "--workers-out"])
def test_known_truths_are_not_overwritten(run, folder, option):
    known = folder.parent / "known.csv"
    known.write_text("task,label\n0,yes\n")
    status, _, errors = run("infer", folder, "--non-private", "--gold", known, option, known)
    assert status == 2
    assert "is the input" in errors
    assert known.read_text() == "task,label\n0,yes\n"


def test_truths_go_to_a_pipe_as_csv_and_as_json(run, folder):
    status, output, _ = run("infer", folder, "--non-private", "--method", "majority")
    assert status == 0
    assert output.splitlines()[0] == "task,truth,confidence,answers,tied"
    assert len(output.splitlines()) == 61
    status, output, _ = run("infer", folder, "--non-private", "--json")
    found = json.loads(output)
    assert found["converged"] is True
    assert len(found["truths"]) == 60
    assert len(found["workers"]) == 15


def test_plain_answers_are_read_where_that_is_said(run, folder):
    status, output, _ = run("infer", folder / "answers.csv", "--non-private", "--labels", "no,yes")
    assert status == 0
    assert len(output.splitlines()) == 61


def test_messy_files_are_read_where_the_user_says_how(run, tmp_path):
    path = tmp_path / "messy.csv"
    path.write_text("item,who,said\na,u,yes\na,u,no\na,v,maybe\nb,v,\nb,w,no\n")
    words = ("infer", path, "--non-private", "--labels", "no,yes", "--columns", "item,who,said")
    assert run(*words)[0] == 2
    status, output, errors = run(*words, "--drop-invalid", "--duplicates", "last")
    assert status == 0
    assert "dropped: 1 repeated answer, 2 missing or invalid" in errors
    assert len(output.splitlines()) == 3
    status, _, errors = run(*words[:-1], "item,who")
    assert (status, "three names" in errors) == (2, True)


def test_reports_of_several_files_and_simulated_ones(run, folder, tmp_path):
    frame = pd.read_csv(folder / "answers.csv")
    paths = []
    for part in (0, 1):
        plain, reports = tmp_path / f"{part}.csv", tmp_path / f"{part}.parquet"
        frame[frame["worker"] % 2 == part].to_csv(plain, index=False)
        assert run("randomize", plain, "--labels", "no,yes", "-o", reports)[0] == 0
        paths.append(reports)
    status, _, errors = run("infer", *paths)
    assert status == 0
    assert "60 tasks, 15 workers, 360 answers" in errors
    assert "protect no one" not in errors
    run("randomize", folder, "--simulate", 1, "-o", tmp_path / "s.parquet")
    told = run("infer", tmp_path / "s.parquet")[2]
    assert told.count("these reports are simulated and protect no one") == 1
    assert told.count("simulated") == 1


def test_it_says_when_it_did_not_converge(run, folder):
    errors = run("infer", folder, "--non-private", "--max-iter", 1)[2]
    assert "NOT converged: increase --max-iter" in errors


def test_numbers_from_answers_to_truths(run, ratings):
    words = ["randomize", ratings / "answers.csv", "--between", "0,9", "-m", "laplace:fill=none"]
    status, _, errors = run(*words, "-e", "50", "-o", ratings / "r.jsonl")
    assert status == 0
    assert "Answers of the busiest worker" in errors
    status, output, errors = run("infer", ratings / "r.jsonl", "--json")
    assert status == 0
    found = json.loads(output)
    assert found["method"]["method"] == "noise-aware"
    assert set(found["truths"][0]) == {"task", "truth", "standard_error", "spread", "answers"}
    assert "tied" not in errors
    assert "; method noise-aware, by default; " in errors
    workers = ratings / "w.csv"
    status, _, _ = run("infer", ratings / "r.jsonl", "--method", "moon", "--workers-out", workers)
    assert list(pd.read_csv(workers)) == ["worker", "error", "weight", "error_sd", "answers"]
    status, output, _ = run("infer", ratings / "r.jsonl", "--method", "median")
    assert output.splitlines()[0] == "task,truth,standard_error,spread,answers"
    assert "by default" not in run("infer", ratings / "r.jsonl", "--method", "median")[2]


@pytest.mark.parametrize(
    ("module", "labels", "way"),
    [
        ("labels", True, "weighted-vote"),
        ("numbers", False, "moon:truth_prior=normal"),
    ],
)
def test_a_crowd_too_large_for_the_usual_method_is_told_another(
    run, reports, ratings, monkeypatch, module, labels, way
):
    monkeypatch.setattr(f"quietcrowd.inference.{module}.noise_aware.MOST_CELLS", 1)
    for name in ("MANY", "MANY_OF_PART"):
        monkeypatch.setattr(f"quietcrowd.inference.numbers.sweep.{name}", 1)
    data = (reports,) if labels else (ratings / "answers.csv", "--non-private", "--between", "0,9")
    data = (*data, "--method", "noise-aware")
    status, _, errors = run("infer", *data)
    assert status == 2
    assert f"(on the command line: --method {way})" in errors
    status, output, _ = run("infer", *data[:-1], way)
    assert status == 0
    assert len(output.splitlines()) == (61 if labels else 21)


def test_null_reports_are_counted_aloud(run, ratings):
    words = ["randomize", ratings / "answers.csv", "--levels", "0,1,2,3,4,5,6,7,8,9"]
    run(*words, "-m", "one-layer:missing=category", "--simulate", "1", "-o", ratings / "r.csv")
    for method in ("majority", "weighted-mean"):
        status, _, errors = run("infer", ratings / "r.csv", "--method", method)
        assert status == 0
        assert "NULL reports dropped" in errors


def test_two_randomisations_of_the_same_answers_are_told(run, folder, tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        assert run("randomize", folder, "-e", 1, "-o", path)[0] == 0
    status, _, errors = run("infer", *paths)
    assert status == 2
    assert "the same answers, randomized twice, infer from one of them." in errors


@pytest.mark.parametrize("name", ["nodir/t.csv", "{folder}"])
def test_errors_of_the_system_name_the_file_first(run, folder, name):
    target = name.format(folder=folder / "answers.csv" / "t.csv")
    errors = run("infer", folder, "--non-private", "-o", target)[2]
    assert "Errno" not in errors
    assert errors.startswith("quietcrowd: error: ")
    assert errors.rstrip().endswith("there is no such directory")


@pytest.mark.parametrize("option", ["-o", "--workers-out", "--posterior-out"])
def test_nothing_is_overwritten(run, folder, tmp_path, option):
    target = tmp_path / "there.csv"
    target.write_text("mine")
    status, output, errors = run("infer", folder, "--non-private", option, target)
    assert (status, output) == (2, "")
    assert errors == f"quietcrowd: error: {target} already exists; name a new file\n"
    assert target.read_text() == "mine"


LABELS_THAT_OCCUR = {
    "no": ("no", "maybe", "yes"),
    "2": (2, 10, 30),
    "007": ("007", "1", "2"),
}


@pytest.mark.parametrize("labels", LABELS_THAT_OCCUR.values(), ids=LABELS_THAT_OCCUR)
@pytest.mark.parametrize("method", [None, "majority", "dawid-skene"])
def test_without_labels_plain_answers_are_of_what_occurs(run, tmp_path, labels, method):
    answers = qc.make_crowd(tasks=30, workers=9, answers_per_task=4, labels=labels).answers
    qc.write_answers(answers, tmp_path / "a.csv")
    words = (
        "infer",
        tmp_path / "a.csv",
        "--non-private",
        *(("--method", method) if method else ()),
    )
    known = ",".join(map(str, sorted(labels)))
    status, output, errors = run(*words)
    assert status == 0
    line, rest = errors.split("\n", 1)
    assert line == f"{len(labels)} labels in the file: {known.replace(',', ', ')}."
    assert (output, rest) == run(*words, "--labels", known)[1:]


def test_without_a_domain_numbers_are_any_numbers(run, tmp_path):
    frame = qc.make_crowd(kind="sensors", tasks=10, workers=8).answers.to_frame()
    frame.to_csv(tmp_path / "a.csv", index=False)
    expected = WeightedMean().fit(frame, non_private=True).truths["truth"]
    for more in ((), ("--method", "weighted-mean")):
        status, output, errors = run("infer", tmp_path / "a.csv", "--non-private", *more)
        assert status == 0
        assert errors.startswith("Answers are read as numbers. ")
        assert list(pd.read_csv(io.StringIO(output))["truth"]) == list(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,worker,label\n", "a.csv: column 'label' contains no answers"),
        ("task,worker,said\n1,a,no\n", "column 'label' is missing"),
        ("task,worker,label\n1,a,no\n1,b,\n", "Drop the row with --drop-invalid"),
        (
            "task,worker,label\n" + "".join(f"{i},a,{i}.5\n" for i in range(20)) + "20,a,much\n",
            "20 of 21 different answers are numbers, but 'much' is not. Use --between LOW,HIGH",
        ),
    ],
)
def test_files_without_labels_that_occur(run, tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    status, _, errors = run("infer", tmp_path / "a.csv", "--non-private")
    assert status == 2
    assert message in errors


def test_numbers_are_told_from_classes_or_the_user_decides(run, tmp_path):
    rows = [(task, worker) for task in range(5) for worker in range(4)]
    for point, status_of, message in (
        (".5", 0, "Answers are read as numbers"),
        (".0", 2, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, which may be classes or numbers"),
        ("", 0, "For numbers use --between LOW,HIGH"),
    ):
        lines = [f"{task},{worker},{4 * task + worker}{point}" for task, worker in rows]
        (tmp_path / "a.csv").write_text("\n".join(["task,worker,label", *lines]))
        status, _, errors = run(
            "infer", tmp_path / "a.csv", "--non-private", "--method", "noise-aware"
        )
        assert (status, message in errors) == (status_of, True), errors


def test_options_restrict_the_truths_of_their_tasks(run, tmp_path):
    answers, options = tmp_path / "answers.csv", tmp_path / "options.csv"
    rows = [
        f"q{task},{worker},{'cat' if task < 5 else 'elm'}" for task in range(10) for worker in "ab"
    ]
    answers.write_text("\n".join(["task,worker,label", *rows]))
    lists = [f"q{task},{label}" for task in range(5) for label in ("cat", "dog")]
    lists += [f"q{task},{label}" for task in range(5, 10) for label in ("oak", "elm", "fir")]
    options.write_text("\n".join(["task,label", *lists]))
    out, posterior = tmp_path / "truths.csv", tmp_path / "posterior.csv"
    plain = ("infer", answers, "--non-private", "--options", options)
    assert run(*plain, "-o", out, "--posterior-out", posterior)[0] == 0
    assert pd.read_csv(out)["truth"].tolist() == ["cat"] * 5 + ["elm"] * 5
    assert pd.read_csv(posterior)[["task", "label"]].to_numpy().tolist() == [
        line.split(",") for line in lists
    ]
    status, _, errors = run(*plain, "--labels", "cat,dog,oak,elm")
    assert (status, "'fir', of task 'q5', is outside the domain" in errors) == (2, True)
    status, _, errors = run(*plain, "--method", "dawid-skene")
    assert (status, "DawidSkene does not read options per task" in errors) == (2, True)


def test_reports_of_a_round(run, tmp_path):
    crowd = qc.make_crowd(tasks=20, workers=40, answers_per_task=20, random_state=1)
    device = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=4.0)
    sent = [device.randomize(crowd.answers) for _ in range(2)]
    frames = [one.to_frame().assign(round=number) for number, one in enumerate(sent)]
    write_table(pd.concat(frames), tmp_path / "r.csv", report_note(device, simulated=False))
    status, _, errors = run("infer", tmp_path / "r.csv")
    assert status != 0
    assert "--round 1" in " ".join(errors.split())
    status, output, _ = run("infer", tmp_path / "r.csv", "--round", "1")
    assert status == 0
    expected = qc.fit(sent[1]).truths.astype({"task": int}).set_index("task")["truth"]
    found = pd.read_csv(io.StringIO(output)).set_index("task")["truth"]
    assert found[expected.index].tolist() == expected.tolist()
    assert run("survey", tmp_path / "r.csv", "--round", "0")[0] == 0
    status, _, errors = run("infer", tmp_path / "r.csv", "--non-private", "--round", "1")
    assert status != 0
    assert "--round requires reports" in errors
