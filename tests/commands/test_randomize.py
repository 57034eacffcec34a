"""``quietcrowd randomize`` as a user meets it."""

import pandas as pd
import pytest

import quietcrowd as qc


@pytest.mark.parametrize("more", [(), ("--simulate", 1)])
def test_reports_that_are_there_stay_there(run, folder, tmp_path, more):
    """Fresh noise over the same answers tells more, and what is gone cannot be made again."""
    reports = tmp_path / "r.csv"
    assert run("randomize", folder, "-o", reports)[0] == 0
    before = [path.read_bytes() for path in sorted(tmp_path.glob("r.csv*"))]
    assert len(before) == 2
    status, output, errors = run("randomize", folder, "-o", reports, *more)
    assert (status, output) == (2, "")
    assert errors.endswith("r.csv already exists; name a new file\n")
    assert len(errors.splitlines()) == 1
    assert [path.read_bytes() for path in sorted(tmp_path.glob("r.csv*"))] == before


def test_reports_of_a_run_that_ended_meanwhile_stay_there(run, folder, tmp_path, monkeypatch):
    reports, draw = tmp_path / "r.csv", qc.RandomizedResponse.randomize

    def slow(*given, **named):
        reports.write_text("of another run")
        return draw(*given, **named)

    monkeypatch.setattr(qc.RandomizedResponse, "randomize", slow)
    status, _, errors = run("randomize", folder, "-o", reports)
    assert status == 2
    assert errors.endswith("r.csv already exists; name a new file\n")
    assert reports.read_text() == "of another run"


def test_the_same_seed_simulates_the_same_reports(run, folder, tmp_path):
    tables = []
    for name in ("a.csv", "b.csv"):
        options = ("--mechanism", "two-layer", "--simulate", 5, "-o", tmp_path / name)
        status, _, errors = run("randomize", folder, *options)
        assert status == 0
        assert "these reports protect no one" in errors
        tables.append((tmp_path / name).read_text())
    assert tables[0] == tables[1]


def test_rows_left_out_for_their_answer_need_a_mechanism_that_hides_it(run, tmp_path):
    path, reports = tmp_path / "a.csv", tmp_path / "r.parquet"
    path.write_text("task,worker,label\nt,a,no\nt,b,maybe\nu,a,\nu,b,yes\n")
    words = ("randomize", path, "--labels", "no,yes", "-o", reports)
    status, _, errors = run(*words)
    assert status == 2
    assert "or drop the row with --drop-invalid" in errors
    for more in ((), ("--simulate", 1)):
        status, output, errors = run(*words, "--drop-invalid", *more)
        assert (status, output) == (2, "")
        assert not reports.exists()
        note, error = errors.splitlines()
        assert note == "dropped: 0 repeated answers, 2 missing or invalid"
        assert error.startswith(
            "quietcrowd: error: rows dropped because of a missing or invalid answer: 2"
        )
        assert "RandomizedResponse does not protect participation" in error
        assert "pass participation_is_public=True (on the command line: --participation" in error
    status, _, errors = run(*words, "--drop-invalid", "--participation-is-public")
    assert status == 0
    assert "This does not protect 2 dropped rows. A missing report reveals" in errors
    assert len(qc.read_reports(reports)) == 2


def test_a_mechanism_that_hides_who_answered_takes_them(run, tmp_path):
    path, reports = tmp_path / "a.csv", tmp_path / "r.parquet"
    path.write_text("task,worker,label\nt,a,no\nt,b,maybe\nu,a,\nu,b,yes\n")
    lists = (tmp_path / "tasks.csv", tmp_path / "workers.csv")
    lists[0].write_text("task\nt\nu\n")
    lists[1].write_text("worker\na\nb\nc\n")
    words = ("randomize", path, "--labels", "no,yes", "-m", "one-layer:missing=category")
    words += ("--all-tasks", lists[0], "--all-workers", lists[1], "-o", reports)
    status, _, errors = run(*words, "--drop-invalid")
    assert status == 0
    assert "does not protect" not in errors
    assert len(qc.read_reports(reports)) == 6


def test_an_epsilon_of_0_is_told_where_reports_are_made_and_read(run, folder, tmp_path):
    reports = tmp_path / "r.parquet"
    told = "Epsilon is 0 or almost 0: reports carry no information, and inference is impossible."
    status, _, errors = run("randomize", folder, "-e", 0, "-o", reports)
    assert status == 0
    assert told in errors.splitlines()
    status, _, errors = run("infer", reports)
    assert status == 0
    assert (
        errors.count(
            "RandomizedResponse carry no information about the answers, because epsilon is 0"
        )
        == 1
    )
    status, _, errors = run("randomize", folder, "-e", 0.1, "-o", tmp_path / "s.parquet")
    assert told not in errors
    assert "carry no information" not in run("infer", tmp_path / "s.parquet")[2]


HIDING = [
    "laplace",
    "laplace:fill=midpoint",
    "laplace:participation=released",
    "one-layer:missing=category",
    "two-layer:distribution=epsilon:missing=category",
    "matrix-factorization:rank=4:profile=buckets",
    "matrix-factorization:variant=statistics:rank=3:ridge=0.5",
]


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("mechanism", HIDING)
def test_devices_that_hide_who_answered(run, ratings, mechanism):
    levels = ["--levels", ",".join(map(str, range(10)))]
    for name in ("three", "idle"):
        pd.DataFrame({"worker": [name.replace("three", "3")]}).to_csv(ratings / "me.csv")
        status, _, errors = run(
            *("randomize", ratings / f"{name}.csv", *levels, "-m", mechanism),
            *("--all-tasks", ratings / "tasks.csv", "--all-workers", ratings / "me.csv"),
            *("-o", ratings / f"{name}.parquet"),
        )
        assert status == 0, errors
        assert "20 reports written to" in errors
        assert "is protected alike" in " ".join(errors.split())
    status, output, errors = run("infer", ratings / "three.parquet", ratings / "idle.parquet")
    assert status == 0, errors
    assert "2 workers" in errors
    assert len(output.splitlines()) == 21


@pytest.mark.parametrize("name", ["three", "idle"])
def test_hiding_needs_the_lists_of_tasks_and_workers(run, ratings, name):
    """The error is the same whether the worker answered or not."""
    words = ["randomize", ratings / f"{name}.csv", "--between", "0,9", "-m", "laplace"]
    for lists in ([], ["--all-tasks", ratings / "tasks.csv"]):
        status, _, errors = run(*words, *lists, "-o", ratings / "r.csv")
        assert status == 2
        assert "with --all-tasks FILE and --all-workers FILE" in errors
        assert not (ratings / "r.csv").exists()


def test_lists_do_not_make_a_mechanism_hide_who_answered(run, ratings):
    status, _, errors = run(
        *("randomize", ratings / "three.csv", "--levels", ",".join(map(str, range(10)))),
        *("--all-tasks", ratings / "tasks.csv", "--all-workers", ratings / "workers.csv"),
        *("-m", "one-layer", "-o", ratings / "r.csv"),
    )
    assert status == 0
    assert "one-layer does NOT hide which tasks were answered" in " ".join(errors.split())


def test_a_simulation_needs_no_lists(run, ratings):
    words = ["randomize", ratings / "three.csv", "--between", "0,9", "-m", "laplace"]
    status, _, _ = run(*words, "-o", ratings / "r.csv", "--simulate", "1")
    assert status == 0


WORKERS = ["--all-workers", "{folder}/workers.csv"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "laplace:fill"], "name:key=value"),
        (["-m", "laplace:filling=midpoint"], "laplace has no parameter 'filling'; it has"),
        (["-m", "laplace:fil=midpoint"], "; did you mean 'fill'?"),
        (["-m", "Laplase"], "; did you mean 'laplace'?"),
        (["-m", "laplace:fill=often"], "fill must be"),
        (["-m", "laplace:epsilon=3"], "to set 'epsilon'"),
        (["-m", "laplace:domain=3"], "to set 'domain'"),
        (["-m", "laplace:fill=none:fill=midpoint"], "'fill' occurs twice"),
        (["-m", "laplace:scale=wide"], "scale must be one of"),
        (["-m", "laplace", "-e", "0"], "must be a finite number above 0"),
        (["-m", "laplace", "-e", "-1"], "epsilon must be a finite number above 0"),
        (["-m", "laplace", "-e", "nan"], "epsilon must be a finite number above 0"),
        (["-m", "one-layer"], "must be Categorical or Ordinal"),
        (["-m", "matrix-factorization:rank=0"], "rank must be a whole number"),
        (["-m", "matrix-factorization:variant=paper"], "requires an Ordinal domain"),
        (["--between", "1"], "two numbers"),
        (["--between", "9,0"], "low must be below high"),
        (["--levels", "1,2"], "use one of --labels"),
        (["-m", "laplace", *WORKERS, "--all-tasks", "{folder}/none.parquet"], "no such file"),
        (["-m", "laplace", *WORKERS, "--all-tasks", "{folder}/workers.csv"], "'task' is missing"),
        (["-m", "laplace", *WORKERS, "--all-tasks", "{folder}/few.csv"], "is not in the list of"),
    ],
)
def test_bad_input_on_numbers_is_one_line_and_status_2(run, ratings, words, message):
    (ratings / "few.csv").write_text("task\n1\n2\n")
    usual = [] if "--between" in words else ["--between", "0,9"]
    status, output, errors = run(
        "randomize",
        ratings / "answers.csv",
        *usual,
        *(word.format(folder=ratings) for word in words),
        *("-o", ratings / "r.csv"),
    )
    assert status == 2
    assert output == ""
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_what_randomize_needs_is_said_in_its_help(run):
    assert "Required." in run("randomize", "--help")[1]


@pytest.mark.parametrize(("epsilon", "size"), [(1e300, "large"), (1e-300, "small")])
def test_an_impossible_epsilon_is_too_large_or_too_small(run, ratings, epsilon, size):
    words = ("--between", "0,9", "--simulate", 1, "-o", ratings / "r.csv")
    status, _, errors = run(
        "randomize", ratings / "answers.csv", "-m", "laplace", "-e", epsilon, *words
    )
    assert status == 2
    assert f"is too {size}: it needs noise of about" in errors


@pytest.fixture
def questions(tmp_path):
    """Return files of answers and of options, whose labels print as numbers."""
    answers, options = tmp_path / "answers.csv", tmp_path / "options.csv"
    answers.write_text("task,worker,label\nq1,a,1\nq1,b,2\nq2,a,3\nq2,b,5\n")
    options.write_text("task,label\nq1,1\nq1,2\nq2,3\nq2,4\nq2,5\nq3,1\nq3,3\n")
    return answers, options


def test_answers_are_randomized_among_the_options_of_their_tasks(run, questions, tmp_path):
    answers, options = questions
    for name in ("r.csv", "r.jsonl", "r.parquet"):
        status, _, errors = run("randomize", answers, "--options", options, "-o", tmp_path / name)
        assert status == 0
        assert "contains the possible answers of each task, which are public" in errors
        reports = qc.read_reports(tmp_path / name)
        assert reports.table.options.to_dict() == {
            "tasks": ["q1", "q2"],
            "options": [[1, 2], [3, 4, 5]],
        }
        assert reports.mechanism.options.tasks.to_pylist() == ["q1", "q2", "q3"]
        status, output, _ = run("infer", tmp_path / name)
        assert status == 0
        assert len(output.splitlines()) == 3
    status, _, errors = run("infer", tmp_path / "r.csv", "--options", options)
    assert (status, "and --options require --non-private" in errors) == (2, True)


def test_files_of_two_devices_have_the_same_options(run, questions, tmp_path):
    answers, options = questions
    lines = answers.read_text().splitlines(keepends=True)
    files = []
    for device, rows in (("a", lines[1:2]), ("b", lines[4:])):
        (tmp_path / f"{device}.csv").write_text("".join([lines[0], *rows]))
        files.append(tmp_path / f"{device}.parquet")
        source = tmp_path / f"{device}.csv"
        assert run("randomize", source, "--options", options, "-o", files[-1])[0] == 0
    assert len(qc.read_reports(*files).table) == 2


def test_an_answer_outside_the_options_stops(run, questions, tmp_path):
    answers, options = questions
    answers.write_text(answers.read_text().replace("q1,b,2", "q1,b,3"))
    for command in (("randomize", answers), ("infer", answers, "--non-private")):
        status, _, errors = run(*command, "--options", options, "-o", tmp_path / "o.csv")
        assert status == 2
        assert "row 1, column 'label': '3' is not an option of task 'q1', whose" in errors
        assert "Add it to the file of --options, or drop the row with --drop-invalid." in errors


def test_options_need_a_file_and_a_mechanism_that_reads_them(run, questions, folder, tmp_path):
    answers, options = questions
    out = ("-o", tmp_path / "r.csv")
    status, _, errors = run("randomize", folder, "--options", options, *out)
    assert (status, "--options, --question and --decimal require a file" in errors) == (2, True)
    more = ("-m", "subset-selection")
    status, _, errors = run("randomize", answers, "--options", options, *more, *out)
    assert (status, "RandomizedResponse does" in errors) == (2, True)
    options.write_text("task,option\nq1,1\n")
    status, _, errors = run("randomize", answers, "--options", options, *out)
    assert (status, "options.csv: options: column 'label' is missing" in errors) == (2, True)
