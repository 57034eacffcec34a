import io
import itertools
import json
from itertools import pairwise

import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.commands.app import app
from quietcrowd.formats import write_table
from quietcrowd.inference import ignores_noise

BATCH = (
    "HITId,WorkerId,AssignmentStatus,Answer.animal,Answer.sure\n"
    "H1,A1,Approved,cat,1\nH1,A2,Rejected,dog,2\nH2,A1,Submitted,dog,=2\n"
)
ROWS = "task,worker,label\nH1,A1,cat\nH2,A1,dog\n"


@pytest.fixture(autouse=True)
def batch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch.csv").write_text(BATCH)
    return tmp_path


def read_csv(text):
    return pd.read_csv(io.StringIO(text)).to_numpy().tolist()


def test_from_format_to_format_and_back(run):
    files = ["a.csv", "b.parquet", "c.jsonl.gz", "d.json", "e.tsv", "f.csv"]
    options = {"e.tsv": ("--to", "toloka"), "f.csv": ("--to", "mturk")}
    status, output, errors = run("convert", "batch.csv", files[0], "--question", "animal")
    assert (status, output) == (0, "")
    assert "dropped rows: rejected answers" not in errors
    assert (
        "batch.csv: dropped rows: rejected assignments (convert --include-rejected includes "
        "them): 1" in errors
    )
    assert "2 answers written to a.csv." in errors
    for source, target in pairwise(files):
        status, _, errors = run("convert", source, target, *options.get(target, ()))
        assert (status, errors) == (0, f"2 answers written to {target}.\n")
    for file in files:
        status, output, _ = run("convert", file)
        assert status == 0
        workers = 1 if file in files[3:] else "A1"
        assert read_csv(output) == [["H1", workers, "cat"], ["H2", workers, "dog"]]


def test_what_infer_and_randomize_read_is_the_same(run):
    words = ("batch.csv", "--labels", "cat,dog", "--question", "animal")
    status, output, errors = run("infer", "--non-private", *words)
    assert (status, "rejected assignments" in errors) == (0, True)
    assert [row[:2] for row in read_csv(output)] == [["H1", "cat"], ["H2", "dog"]]
    assert run("randomize", *words, "-o", "r.parquet", "--simulate", 1)[0] == 0
    assert len(qc.read_reports("r.parquet")) == 2
    status, _, errors = run("infer", "--non-private", "batch.csv", "--labels", "cat,dog")
    assert (status, "Choose one with" in errors) == (2, True)


def test_rejected_answers_are_taken_where_they_are_asked_for(run):
    status, output, errors = run(
        "convert", "batch.csv", "--question", "animal", "--include-rejected"
    )
    assert (status, errors) == (0, "3 answers.\n")
    assert read_csv(output)[1] == ["H1", "A2", "dog"]


def test_formulas_are_told_and_come_back(run, batch):
    status, _, errors = run("convert", "batch.csv", "a.csv", "--question", "sure")
    assert (status, "a spreadsheet would read as formulas: 1." in errors) == (0, True)
    assert '"\'=2"' in (batch / "a.csv").read_text()
    status, output, _ = run("convert", "batch.csv", "--question", "sure")
    assert "'=2" in output
    run("convert", "a.csv", "a.jsonl")
    assert json.loads((batch / "a.jsonl").read_text().splitlines()[1])["label"] == "=2"


def test_reports_keep_what_made_them(run, batch):
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["cat", "dog"]), epsilon=1.0)
    (batch / "a.csv").write_text(ROWS)
    reports = mechanism.randomize(qc.read_answers("a.csv", mechanism.domain))
    qc.write_reports(reports, "r.parquet")
    files = {"r.csv": "csv", "m.csv": "mturk", "t.tsv": "toloka", "l.json": "label-studio"}
    for file, name in files.items():
        status, _, errors = run("convert", "r.parquet", file, "--to", name)
        assert status == 0
        assert f"2 reports written to {file}. These labels are randomised" in errors
        note = json.loads((batch / f"{file}.mechanism.json").read_text())
        assert note["mechanism"]["other_weight"] == mechanism.to_dict()["other_weight"]
        assert "do not majority-vote them" in note["warning"]
        with ignores_noise():
            assert run("infer", file)[0] == 0
        (batch / f"{file}.mechanism.json").unlink()
        missing = "describe the mechanism" if name == "csv" else "the mechanism of these reports is"
        assert missing in run("infer", file)[2]
    status, output, errors = run("convert", "r.parquet")
    assert (status, output) == (2, "")
    assert "contains randomized reports" in errors


def test_nothing_is_overwritten(run, batch):
    (batch / "a.csv").write_text(ROWS)
    for there in ("b.csv", "c.csv.mechanism.json"):
        (batch / there).write_text("kept")
        status, output, errors = run("convert", "a.csv", there.removesuffix(".mechanism.json"))
        assert (status, output) == (2, "")
        assert f"{there} already exists; name a new file" in errors
        assert (batch / there).read_text() == "kept"
    assert not (batch / "c.csv").exists()


def test_truths_become_predictions(run, batch):
    (batch / "truths.csv").write_text("task,truth,confidence,answers\nH1,cat,0.75,3\nH2,dog,,2\n")
    status, _, errors = run("convert", "truths.csv", "t.json")
    assert (status, errors) == (0, "2 truths written to t.json.\n")
    first = json.loads((batch / "t.json").read_text())[0]["predictions"][0]
    assert (first["score"], first["result"][0]["value"]) == (0.75, {"choices": ["cat"]})
    status, output, _ = run("convert", "t.json")
    assert status == 0
    assert output == "task,label,confidence\nH1,cat,0.75\nH2,dog,\n"
    assert "stores task, worker and label" in run("convert", "t.json", "m.csv", "--to", "mturk")[2]


def test_other_columns_are_told(run, batch):
    (batch / "a.csv").write_text("when,item,who,said\n1,H1,A1,cat\n")
    status, output, errors = run("convert", "a.csv", "--columns", "item,who,said")
    assert (status, output) == (0, "task,worker,label\nH1,A1,cat\n")
    assert errors == "dropped columns: when\n1 answer.\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("none.csv", "a.csv"), "none.csv: there is no such file"),
        (("batch.csv", "a.csv"), "several questions, 'animal', 'sure'"),
        (("batch.csv", "a.csv", "--question", "anima"), "did you mean 'animal'"),
        (("batch.csv", "batch.csv", "--question", "animal"), "write to another file"),
        (("batch.csv", "./batch.csv", "--question", "animal"), "write to another file"),
        (("batch.csv", "batch.csv.mechanism.json"), "write to another file"),
        (("batch.csv", "a.rtx"), "the name must end in one of"),
        (("batch.csv", "no/a.csv"), "there is no such directory"),
        (("batch.csv", "a.csv", "--to", "word"), "format must be one of csv, parquet"),
        (("batch.csv", "a.csv", "--from", "mturc"), "did you mean 'mturk'"),
        (("batch.csv", "a.csv", "--to", "toloka"), "must end in .tsv"),
        (("batch.csv", "--to", "toloka"), "name the output file of toloka"),
        (("batch.csv", "a.csv", "--from", "csv"), "column 'task' is missing"),
        (("batch.csv", "a.csv", "--from", "label-studio"), "cannot be read as Label Studio JSON"),
        (("batch.csv", "a.csv", "--from", "toloka"), "no column OUTPUT:"),
        (("batch.csv", "a.csv", "--columns", "a,b,c"), "name columns that it has"),
        (("batch.csv", "a.csv", "--columns", "a"), "--columns must be three names"),
        (("truths.csv", "a.csv", "--columns", "task,x,label"), "of answers, not of truths"),
        (("empty.csv", "a.csv"), "empty.csv: this cannot be read as CSV"),
        (("missing.csv", "a.csv"), "missing.csv: row 1, column 'worker': the id is missing"),
    ],
)
def test_what_goes_wrong_is_one_line(run, batch, words, told):
    (batch / "empty.csv").write_text("")
    (batch / "truths.csv").write_text("task,label\na,yes\n")
    (batch / "missing.csv").write_text("task,worker,label\na,u,yes\nb,,no\n")
    status, output, errors = run("convert", *words)
    assert (status, output) == (2, "")
    assert told in errors
    assert len(errors.splitlines()) == 1
    assert (batch / "batch.csv").read_text() == BATCH
    assert not (batch / "a.csv").exists()


def test_a_terminal_shows_the_first_rows_and_how_to_write_all(run, batch, monkeypatch):
    rows = "".join(f"t{number},u,yes\n" for number in range(30))
    (batch / "a.csv").write_text(f"task,worker,label\n{rows}")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    status, output, _ = run("convert", "a.csv")
    assert (status, " t19 " in f" {output}".replace("\n", " "), "t20" in output) == (0, True, False)
    assert output.endswith("… and 10 more; write all rows with quietcrowd convert IN OUT\n")


def test_options_of_answers_do_not_go_with_reports(run, batch):
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["cat", "dog"]), epsilon=1.0)
    (batch / "a.csv").write_text(ROWS)
    answers = qc.read_answers("a.csv", mechanism.domain)
    qc.write_reports(mechanism.simulate(answers, random_state=1), "r.csv")
    for words in (("--question", "a"), ("--include-rejected",), ("--columns", "a,b,c")):
        status, _, errors = run("convert", "r.csv", "s.csv", *words)
        assert (status, "require non-private answers" in errors) == (2, True)
    status, _, errors = run("convert", "r.csv", "r.csv.mechanism.json")
    assert (status, "write to another file" in errors) == (2, True)


def test_known_truths_are_read_from_a_pool(run, batch):
    header = "INPUT:q\tOUTPUT:a\tOUTPUT:b\tGOLDEN:a\tGOLDEN:b\tASSIGNMENT:worker_id\n"
    (batch / "p.tsv").write_text(f"{header}q1\tno\tx\tyes\tx\tw1\nq2\tno\tx\t\t\tw1\n")
    words = ("infer", "--non-private", "p.tsv", "--labels", "no,yes", "--question", "a")
    words = (*words, "--method", "majority", "--gold")
    (batch / "known.csv").write_text("task,label\nq1,yes\n")
    for gold in ("p.tsv", "known.csv"):
        status, output, errors = run(*words, gold)
        assert (status, "1 truth known" in errors) == (0, True)
        assert [row[:2] for row in read_csv(output)] == [["q1", "yes"], ["q2", "no"]]


def test_a_field_of_known_truths_goes_with_reports(run, batch):
    header = "INPUT:q\tGOLDEN:a\tGOLDEN:b\n"
    (batch / "p.tsv").write_text(f"{header}cat\tcat\tx\n")
    (batch / "known.csv").write_text("task,label\ncat,cat\n")
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["cat", "dog"]), epsilon=1.0)
    frame = pd.DataFrame({"task": ["cat", "dog"], "worker": "u", "label": ["dog", "dog"]})
    answers = qc.Answers.from_frame(frame, mechanism.domain)
    qc.write_reports(mechanism.randomize(answers), "r.csv")
    status, _, errors = run("infer", "r.csv", "--gold", "p.tsv")
    assert (status, "Choose one with field= (on the command line: --question)" in errors) == (
        2,
        True,
    )
    status, output, errors = run("infer", "r.csv", "--gold", "p.tsv", "--question", "a")
    assert (status, "1 truth known" in errors) == (0, True)
    assert read_csv(output)[0][:2] == ["cat", "cat"]
    status, _, errors = run("infer", "r.csv", "--gold", "known.csv", "--question", "a")
    assert (status, "exist only in files of platforms" in errors) == (2, True)
    assert run("convert", "r.csv", "r.parquet")[0] == 0
    assert run("convert", "r.parquet", "store", "--to", "store")[0] == 0
    words = ("infer", "store", "-o", "truths.parquet", "--question", "a")
    status, _, errors = run(*words, "--gold", "p.tsv")
    assert (status, "1 truth known" in errors) == (0, True)
    status, _, errors = run(*words)
    assert (status, "--question is not available for a store" in errors) == (2, True)


def test_a_field_goes_with_plain_answers(run, batch):
    (batch / "a.csv").write_text(ROWS)
    status, _, errors = run("infer", "a.csv", "--question", "a")
    assert (status, "--question and --decimal require --non-private or --gold" in errors) == (
        2,
        True,
    )
    status, _, errors = run(
        "infer", "--non-private", "a.csv", "--labels", "cat,dog", "--question", "a"
    )
    assert (status, "only in files of platforms" in errors) == (2, True)


@pytest.mark.parametrize("words", ["convert a.csv --to to", "campaign export x --format to"])
def test_names_of_formats_are_completed(monkeypatch, capsys, words):
    monkeypatch.setenv("_QUIETCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"quietcrowd {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    with pytest.raises(SystemExit):
        app([], prog_name="quietcrowd")
    assert capsys.readouterr().out.split() == ["toloka"]


def test_comparisons_become_answers_of_left_and_right(run, tmp_path):
    table, target = tmp_path / "comparisons.csv", tmp_path / "answers.csv"
    rows = {"worker": ["ann"], "left": ["tea"], "right": ["milk"], "label": ["milk"]}
    pd.DataFrame(rows).to_csv(table, index=False)
    status, _, errors = run("convert", table, target)
    assert (status, errors) == (0, f"1 answer written to {target}.\n")
    assert pd.read_csv(target).to_dict("list") == {
        "task": ["tea | milk"],
        "worker": ["ann"],
        "label": ["right"],
    }
    other = tmp_path / "others.csv"
    pd.DataFrame(rows).set_axis([*"wxyz"], axis=1).to_csv(other, index=False)
    assert (
        run("convert", other, "--columns", "w,x,y,z")[1]
        == "task,worker,label\ntea | milk,ann,right\n"
    )


LABELS = ["cat", "dog", "tree"]
TRUE_SETS = [list(held) for size in range(4) for held in itertools.combinations(LABELS, size)]
"""Of eight tasks: every set that there is."""


@pytest.fixture
def tags(tmp_path, monkeypatch):
    """Write the sets that 40 workers give, each wrong in one label of one task."""
    monkeypatch.chdir(tmp_path)
    rows = []
    for worker in range(40):
        for task, held in enumerate(TRUE_SETS):
            other = {LABELS[worker % 3]} if worker % 8 == task else set()
            rows.append((f"00{task}", f"w{worker}", sorted(set(held) ^ other)))
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    frame.assign(label=frame["label"].map("; ".join)).to_csv("tags.csv", index=False)
    return frame


def converted(run, target, *words):
    status, _, errors = run(
        "convert", "tags.csv", target, "--multi-label", ",".join(LABELS), *words
    )
    return status, errors


@pytest.mark.slow
@pytest.mark.usefixtures("tags")
def test_sets_go_through_noise_and_come_back_as_sets(run):
    status, errors = converted(run, "questions.parquet", "--separator", ";")
    assert status == 0
    assert (
        "3 labels: a task becomes 3 questions. A worker's privacy loss for it is 3 times" in errors
    )
    assert "960 answers written to questions.parquet." in errors
    words = ("--labels", "no,yes", "-e", 4, "-o", "reports.parquet")
    status, _, errors = run("randomize", "questions.parquet", *words)
    assert status == 0
    assert "has a privacy loss of at most epsilon = 4 about one of them" in " ".join(errors.split())
    status, _, _ = run(
        "infer", "reports.parquet", "--label-sets-out", "sets.csv", "-o", "truths.csv"
    )
    assert status == 0
    found = pd.read_csv("sets.csv", dtype={"task": str}, keep_default_na=False)
    # 16 of 40 reports would have to be turned, with a probability of .018 each: below 10^-15
    assert found["labels"].tolist() == [",".join(held) for held in TRUE_SETS]
    assert found["task"].tolist() == [f"00{task}" for task in range(8)]
    again = qc.fit(qc.read_reports("reports.parquet")).label_sets()
    assert found["p(dog)"].tolist() == again["p(dog)"].tolist()


def test_the_questions_are_those_of_python(run, tags):
    assert converted(run, "questions.csv", "--separator", ";")[0] == 0
    read = qc.read_answers("questions.csv", qc.Categorical(["no", "yes"])).to_frame()
    pd.testing.assert_frame_equal(read, qc.Answers.from_label_sets(tags, LABELS).to_frame())


@pytest.mark.parametrize("name", ["sets.jsonl", "sets.parquet"])
def test_lists_go_in_and_out_where_a_file_holds_them(run, tags, name):
    write_table(tags, "lists.jsonl")
    status, _, _ = run("convert", "lists.jsonl", "questions.csv", "--multi-label", ",".join(LABELS))
    assert status == 0
    words = ("--non-private", "--method", "majority", "--label-sets-out", name, "-o", "truths.csv")
    assert run("infer", "questions.csv", *words)[0] == 0
    read = pd.read_json(name, lines=True) if name.endswith("l") else pd.read_parquet(name)
    assert [list(held) for held in read["labels"]] == TRUE_SETS


@pytest.mark.usefixtures("tags")
def test_what_cannot_be_read_is_told(run):
    status, errors = converted(run, "questions.csv")
    assert status == 2
    assert errors.endswith(
        "'cat; dog' is not one of the labels 'cat', 'dog', 'tree'. Add it to labels= (on the "
        "command line: --multi-label), or drop it. Labels are separated by ','; --separator sets "
        "another separator.\n"
    )
    status, _, errors = run("convert", "tags.csv", "a.csv", "--separator", ";")
    assert (status, errors) == (2, "quietcrowd: error: --separator requires --multi-label\n")
    write_table(pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [None]}), "no.jsonl")
    status, _, errors = run("convert", "no.jsonl", "a.csv", "--multi-label", "cat,dog")
    assert status == 2


def test_options_are_a_quoted_list_and_may_contain_the_separator(run):
    write_table(
        pd.DataFrame({"task": ["a"], "worker": ["u"], "label": ["Cheap, but slow, Nice"]}), "a.csv"
    )
    words = ("--multi-label", '"Cheap, but slow",Nice,Cheap')
    status, output, _ = run("convert", "a.csv", *words)
    assert (status, read_csv(output)) == (
        0,
        [["a: Cheap, but slow", "u", "yes"], ["a: Nice", "u", "yes"], ["a: Cheap", "u", "no"]],
    )


def test_a_label_that_was_split_is_reported(run):
    sets = ["Cheap, but slow, Nice", "Nice", "", "Cheap, but slow"]
    write_table(pd.DataFrame({"task": "a", "worker": list("uvwx"), "label": sets}), "a.csv")
    text = "'Cheap' and 'but slow' always occur together. If they are one label, quote it: "
    status, _, errors = run("convert", "a.csv", "--multi-label", "Cheap, but slow,Nice")
    assert (status, text + """--multi-label '"Cheap, but slow",...'""" in errors) == (0, True)
    assert errors.count("always occur together") == 1
    status, _, errors = run("convert", "a.csv", "--multi-label", '"Cheap, but slow",Nice')
    assert (status, "always" in errors) == (0, False)


def test_missing_sets_have_no_rows_and_empty_cells_are_sets(run, tmp_path):
    (tmp_path / "a.csv").write_text('task,worker,label\na,u,"cat,dog"\na,v,NA\na,w,\na,x,-\n')
    status, output, errors = run(
        "convert", "a.csv", "--multi-label", "cat,dog", "--missing", "NA,-"
    )
    assert status == 0
    assert "column 'label': missing sets: 2. Their rows are dropped." in errors
    assert "column 'label': empty cells: 1. Each is read as a set without labels" in errors
    assert read_csv(output) == [
        *(["a: cat", "u", "yes"], ["a: cat", "w", "no"]),
        *(["a: dog", "u", "yes"], ["a: dog", "w", "no"]),
    ]


def test_questions_that_a_platform_marks_as_not_answered_have_no_rows(run, batch):
    head = "id,submitdate,lastpage,startlanguage,Pets[cat],Pets[dog]\n"
    rows = "1,2026-01-01,1,en,Yes,No\n2,2026-01-01,1,en,N/A,N/A\n3,2026-01-01,1,en,No,No\n"
    (batch / "survey.csv").write_text(head + rows)
    status, output, errors = run("convert", "survey.csv", "--multi-label", "cat,dog")
    assert status == 0
    assert "column 'label': missing sets: 1. Their rows are dropped." in errors
    assert read_csv(output) == [
        ["Pets: cat", 1, "yes"],
        ["Pets: cat", 3, "no"],
        ["Pets: dog", 1, "no"],
        ["Pets: dog", 3, "no"],
    ]


def test_sets_are_of_questions_alone(run, folder, tmp_path):
    words = ("--non-private", "--method", "majority", "--label-sets-out", tmp_path / "sets.csv")
    assert run("infer", folder, *words)[0] == 2
    frame = pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [["a, b"]]})
    qc.write_answers(qc.Answers.from_label_sets(frame, ["a, b"]), tmp_path / "comma.csv")
    status, _, errors = run("infer", tmp_path / "comma.csv", *words, "--labels", "no,yes")
    assert status == 2
    assert "label 'a, b' contains a comma" in errors
    assert not (tmp_path / "sets.csv").exists()
    status, output, _ = run("infer", tmp_path / "comma.csv", *words[:-1], "-")
    assert (status, output) == (2, "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a.csv", "b.csv", "c.csv"), "several inputs require --to store"),
        (("a.csv", "b.csv", "--non-private"), "--non-private requires --to store"),
        (("a.csv", "b.csv", "--campaign", "0" * 32), "--campaign requires --to store"),
        (("a.csv", "--gold", "b.csv"), "--gold requires --describe"),
        (("a.csv", "--json"), "--json requires --describe"),
        (("a.csv", "--describe", "--partitions", 2), "--partitions does not apply to --describe"),
        (("a.csv", "--describe", "--from", "csv"), "--from does not apply to --describe"),
        (("a.csv", "b.csv", "--describe"), "--describe requires one file"),
        (("a.csv", "b", "--to", "store", "--question", "x"), "--question does not apply to --to"),
    ],
)
def test_options_that_do_not_go_together(run, words, told):
    status, output, errors = run("convert", *words)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert told in errors


def test_column_numbers_and_a_decimal_mark(run, batch):
    (batch / "a.txt").write_text("ann\tt1\t1,5\nann\tt2\t2\n")
    words = ("convert", "a.txt", "--columns", "2,1,3")
    assert "may be a number with a decimal comma" in run(*words)[2]
    status, output, errors = run(*words, "--decimal", ",")
    assert (status, read_csv(output)) == (0, [["t1", "ann", 1.5], ["t2", "ann", 2.0]])
    assert "dropped columns" not in errors
    described = run(*words, "--decimal", ",", "--describe", "--json")
    assert json.loads(described[1])["answers"] == 2
    errors = run("convert", "a.txt", "s", "--to", "store", "--decimal", ",")[2]
    assert "--decimal" in errors


def test_comparisons_of_an_arena_and_their_ties(run, batch):
    rows = "model_a,model_b,winner,judge\nlark,wren,model_b,ann\nlark,wren,tie,bob\n"
    (batch / "a.csv").write_text(rows.rsplit("\n", 2)[0])
    assert read_csv(run("convert", "a.csv")[1]) == [["lark | wren", "ann", "right"]]
    (batch / "a.csv").write_text(rows)
    status, _, errors = run("convert", "a.csv")
    assert (status, "row 1 is line 3 of the file" in errors) == (2, True)
    assert "'tie' is neither side, so it cannot be randomized as one" in errors
    status, output, errors = run("lab", "rank", "a.csv", "--non-private")
    assert (status, output.splitlines()[1].split(",")[0]) == (0, "wren")
    assert "2 items, 2 comparisons, 2 workers" in errors
    (batch / "a.csv").write_text(rows + "lark,wren,tie,ann\n")
    assert "row 2 is line 4 of the file" in run("lab", "rank", "a.csv", "--non-private")[2]
    errors = run("lab", "rank", "a.csv", "--non-private", "--duplicates", "all")[2]
    assert "2 items, 3 comparisons, 2 workers" in errors


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_repeated_answers_are_in_the_order_of_their_times(run, tmp_path, name):
    times = {"t": ["2024-01-02", "2024-01-01"], "u": ["2024-01-01", "2024-01-02"]}
    frame = pd.DataFrame(
        [
            {"task": task, "worker": "a", "label": label, "updated_at": time}
            for task in times
            for label, time in zip(("cat", "dog"), times[task], strict=True)
        ]
    )
    write_table(frame, tmp_path / name)
    status, printed, errors = run("convert", tmp_path / name)
    assert status == 0
    assert "in the order of column 'updated_at', not of rows. Rows: 4" in errors
    assert printed.split() == ["task,worker,label", "t,a,dog", "t,a,cat", "u,a,cat", "u,a,dog"]
