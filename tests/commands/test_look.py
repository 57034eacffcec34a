"""``quietcrowd look`` as a user meets it: every command it prints succeeds."""

import io
import json
import shlex
import shutil
import sys
import zipfile

import pandas as pd
import pyarrow as pa
import pytest
from tests.formats.test_ods import spreadsheet
from tests.formats.test_registry import EXPORTS

import quietcrowd as qc
from quietcrowd.formats.kinds import FORMATS
from quietcrowd.formats.registry import write_table

ROWS = {
    "task": ["p", "p", "q", "q", "r", "r"],
    "worker": ["1", "2", "1", "2", "1", "2"],
    "label": ["cat", "dog", "cat", "cat", "dog", "dog"],
}


def jsonl(*records):
    return "".join(f"{json.dumps(one)}\n" for one in records)


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


CLASSIFIED = json.dumps([{"task": "T0", "task_label": "Cat?", "value": "yes"}])
SURVEY = "StartDate,Finished,ResponseId,Q1,Q2\nStart Date,Finished,Response ID,Cat?,Dog?\n"
IMPORT_IDS = ",".join(
    '"{""ImportId"":""' + one + '""}"'
    for one in ("startDate", "finished", "_recordId", "QID1", "QID2")
)
FILES = {
    "json": (
        "a.json",
        json.dumps([{"task": "t", "worker": who, "label": "cat"} for who in ("u", "v")]),
    ),
    "prodigy": (
        "a.jsonl",
        jsonl(
            *(
                {"_input_hash": 1, "_task_hash": 2, "_annotator_id": who, "answer": said}
                for who, said in (("u", "accept"), ("v", "reject"), ("w", "ignore"))
            )
        ),
    ),
    "doccano": (
        "a.zip",
        zipped(
            {f"{who}.jsonl": jsonl({"id": 1, "text": "x", "label": ["cat"]}) for who in ("u", "v")}
        ),
    ),
    "argilla": (
        "a.json",
        json.dumps(
            [
                {
                    "id": "p",
                    "responses": {
                        "sure": [{"value": 3, "user_id": "u"}, {"value": 4, "user_id": "v"}],
                        "animals": [{"value": ["cat", "dog"], "user_id": "u"}],
                    },
                }
            ]
        ),
    ),
    "limesurvey": (
        "a.csv",
        "id,submitdate,lastpage,startlanguage,cat[1],cat[2]\n"
        "1,2024-01-01 10:00:00,2,en,yes,no\n2,2024-01-02 10:00:00,2,en,yes,\n3,,1,en,no,no\n",
    ),
    "qualtrics": (
        "a.csv",
        f"{SURVEY}{IMPORT_IDS}\n2024-01-01,1,R_1,yes,no\n2024-01-02,1,R_2,yes,yes\n",
    ),
    "zooniverse": (
        "a.csv",
        pd.DataFrame(
            {
                "classification_id": [1, 2],
                "user_name": ["u", "v"],
                "user_id": [7, 8],
                "workflow_id": [1, 1],
                "workflow_name": ["It's a cat", "It's a cat"],
                "annotations": [CLASSIFIED, CLASSIFIED],
                "subject_ids": [5, 5],
            }
        ).to_csv(index=False),
    ),
    "sagemaker": ("a.json", json.dumps(EXPORTS["sagemaker"])),
    "hugging-face": (
        "a.jsonl",
        jsonl(*({"id": one, "labels": [0, 1], "annotators": ["u", "v"]} for one in "pq")),
    ),
    "appen": (
        "a.csv",
        "_unit_id,_worker_id,_created_at,animal,animal_gold\n"
        "1,7,1/1/2024 10:00:00,cat,cat\n1,8,1/1/2024 10:01:00,dog,cat\n",
    ),
    **{name: ("a.json", json.dumps([EXPORTS[name]])) for name in ("labelbox", "kili", "mturk-api")},
}
"""A small file of each format that quietcrowd does not write."""


@pytest.fixture
def looked(run, tmp_path, monkeypatch):
    """Return a function that looks at a file, and runs the commands that it prints."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def look(path, *options):
        status, output, errors = run("look", path, "--json", *options)
        assert (status, errors) == (0, "")
        found = json.loads(output)
        text = run("look", path, *options)[1]
        for command in found["commands"]:
            words = shlex.split(command)
            if words[0] == "cp":
                shutil.copyfile(*words[1:])
                continue
            assert words[0] == "quietcrowd"
            status, _, errors = run(*words[1:])
            assert status == 0, (command, errors)
        for command in found["other_commands"].values():
            status, _, errors = run(*shlex.split(command)[1:])
            assert status == 0 or "already exists" in errors, (command, errors)
            assert command in text
        assert found["commands"] or found["problems"] or found["advice"]
        return found

    return look


def test_every_format_has_a_file():
    written = {one.name for one in FORMATS.values() if one.written}
    assert set(FILES) | written | {"ods"} == set(FORMATS)


@pytest.mark.grid
@pytest.mark.parametrize("name", FORMATS)
def test_the_command_that_is_printed_succeeds(looked, tmp_path, name):
    kind = FORMATS[name]
    if name == "ods":
        pytest.importorskip("python_calamine")
        path = spreadsheet(tmp_path / "a.ods", [list(ROWS), *zip(*ROWS.values(), strict=True)])
    elif name in FILES:
        file, content = FILES[name]
        path = tmp_path / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    else:
        path = tmp_path / f"a{kind.suffixes[0]}"
        write_table(pa.table(ROWS), path, file_format=name)
    found = looked(path)
    assert found["commands"], found
    assert kind.title in found["kind"]


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_of_every_shape(looked, tmp_path, name):
    export = EXPORTS[name]
    path = tmp_path / f"a.{'csv' if name == 'zooniverse' else 'json'}"
    if name == "zooniverse":
        cells = {"classification_id": 1, "user_id": 7, "workflow_id": 1, "subject_ids": 5}
        pd.DataFrame([{**cells, "annotations": json.dumps(export)}]).to_csv(path, index=False)
    else:
        path.write_text(json.dumps([export]))
    looked(path)


TABLE = "task,worker,label\n"


@pytest.mark.parametrize(
    ("content", "kind", "commands"),
    [
        (f"{TABLE}p,u,cat\np,v,\n", "a table", ["infer --non-private FILE --drop-invalid"]),
        (f"{TABLE}p,u,cat\np,v,NA\n", "a table", ["infer --non-private FILE --drop-invalid"]),
        (f"{TABLE}p,u,a\np,u,b\n", "a table", ["infer --non-private FILE --duplicates last"]),
        (f"{TABLE}p,u,0.0\np,v,2.0\n", "a table", ["infer --non-private FILE --labels 0,2"]),
        (f"{TABLE}p,u,3;\n", "a table", ["infer --non-private FILE"]),
        (
            "task;worker;label\np;u;1,5\np;v;2,5\n",
            "a table",
            ["infer --non-private FILE --decimal ,"],
        ),
        (
            f"{TABLE}p,u,1.5\np,v,2.5\n"
            + "q,u,4.25\n" * 0
            + "".join(f"t{place},u,{place}.5\n" for place in range(3, 20))
            + "z,u,maybe\n",
            "a table",
            ["infer --non-private FILE --between 1.5,19.5 --drop-invalid"],
        ),
        (
            f"{TABLE}p,u,cat|dog\np,v,dog\nq,u,cat\n",
            "a table",
            [
                "convert FILE answers.csv --multi-label cat,dog --separator '|'",
                "infer --non-private answers.csv --labels no,yes --label-sets-out sets.csv",
            ],
        ),
        (
            f'{TABLE}p,u,"[""a, b"", ""c""]"\np,v,[]\n',
            "a table",
            [
                "convert FILE answers.csv --multi-label '\"a, b\",c'",
                "infer --non-private answers.csv --labels no,yes --label-sets-out sets.parquet",
            ],
        ),
        (
            "sentence,annotator id,Rating\np,u,good\np,v,bad\nq,u,bad\n",
            "a table",
            ["infer --non-private FILE --columns 'sentence,annotator id,Rating'"],
        ),
        (
            "x,y,z\np,u,good\np,v,bad\nq,u,bad\nr,v,bad\n",
            "a table",
            ["infer --non-private FILE --columns x,y,z"],
        ),
        (
            "p,u,good\np,v,bad\nq,u,bad\nr,v,bad\n",
            "a table without a header",
            ["infer --non-private FILE --columns 1,2,3"],
        ),
        (
            "item,ann,bob\np,yes,no\nq,no,no\nr,yes,\n",
            "a wide table: a row per task",
            ["convert FILE answers.csv --wide --task item", "infer --non-private answers.csv"],
        ),
        (
            "participant,q1,q2,remark\nu,yes,no,so\nv,no,no,what\n",
            "a wide table: a row per worker",
            [
                "convert FILE answers.csv --wide --worker participant --ignore remark",
                "infer --non-private answers.csv",
            ],
        ),
        (
            "key,rater_1,rater_2\np,yes,no\nq,yes,no\n",
            "a wide table: a row per task",
            ["convert FILE answers.csv --wide --task key", "infer --non-private answers.csv"],
        ),
        (
            "item,rater1,rater2,gold,n_count\np,yes,no,yes,2\nq,yes,no,yes,2\n",
            "a wide table: a row per task",
            [
                "convert FILE answers.csv --wide --task item --ignore gold,n_count",
                "infer --non-private answers.csv",
            ],
        ),
        (
            '"Timestamp","Is it a cat?","Is it a dog?"\n2024/01/01,Yes,No\n2024/01/02,No,No\n',
            "a wide table: a row per worker",
            ["convert FILE answers.csv --wide", "infer --non-private answers.csv"],
        ),
        (
            "_id,_uuid,_submission_time,animals,animals/cat,animals/dog\n"
            "1,a,2024-01-01T10:00:00,cat,1,0\n2,b,2024-01-02T10:00:00,cat dog,1,1\n",
            "a wide table: a row per worker",
            [
                "convert FILE answers.csv --wide --multi-label cat,dog",
                "infer --non-private answers.csv --labels no,yes --label-sets-out sets.csv",
            ],
        ),
        (
            "worker,left,right,label\nu,a,b,a\nv,a,b,b\nu,a,b,a\n",
            "paired comparisons",
            ["lab rank --non-private FILE --duplicates all"],
        ),
    ],
)
def test_tables(looked, tmp_path, content, kind, commands):
    path = tmp_path / "a.csv"
    path.write_text(content)
    found = looked(path)
    assert found["kind"].startswith(kind)
    shown = [f"quietcrowd {one}".replace("FILE", str(path)) for one in commands]
    assert found["commands"] == shown


def test_the_text_that_is_printed(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.csv").write_text(f"{TABLE}p,u,cat\np,v,\nq,u,\x1b[2J\nq,v,cat\n")
    status, output, errors = run("look", "a b.csv")
    assert (status, errors) == (0, "")
    assert output == (
        "a b.csv: a table (CSV in UTF-8). This output is as confidential as the file.\n"
        "Columns: 'task', 'worker', 'label'\n"
        "\n"
        "Counts of answers\n"
        "  tasks     2\n"
        "  workers   2\n"
        "  answers   3\n"
        "  blank     1\n"
        "  repeated  0\n"
        "\n"
        "Labels, with the number of answers\n"
        "  cat   2\n"
        "  \ufffd[2J  1\n"
        "\n"
        "Problems that options of the next step avoid:\n"
        "- a b.csv: row 1, column 'label': the answer is missing; 1 in all. Drop the row with "
        "--drop-invalid. Rows count from 0, below the header: row 1 is line 3 of the file.\n"
        "\n"
        "Next step:\n"
        "  quietcrowd infer --non-private 'a b.csv' --drop-invalid\n"
    )


def test_rows_with_lists_are_not_mistaken_for_annotations(looked, tmp_path):
    row = {"id": 1, "text": "x", "label": [0, 1], "annotators": ["u", "v"]}
    for name, text in (("a.jsonl", jsonl(row)), ("a.json", json.dumps([row]))):
        path = tmp_path / name
        path.write_text(text)
        assert looked(path)["kind"] == "Hugging Face data set"


def test_numbers_may_be_classes_or_numbers(looked, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{TABLE}p,u,-1\np,v,2\nq,u,3\n")
    (other,) = looked(path)["other_commands"].values()
    assert other == f"quietcrowd infer --non-private {path} --between=-1,3"


def test_options_per_task(looked, tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"t{task},w{who},{task} {who % 2}" for task in range(6) for who in range(5)]
    path.write_text(TABLE + "\n".join(rows))
    assert "12 in all, 2.0 per task" in looked(path)["advice"]
    path.write_text("task,label\np,cat\np,dog\nq,red\nq,blue\n")
    found = looked(path)
    assert found["kind"] == "options per task"
    assert found["advice"].endswith(f"--options {path}")


def test_known_truths_in_a_file_of_answers(looked, tmp_path):
    rows = [f"{unit},{worker},cat,{'cat' * (unit == 1)}" for unit in (1, 2) for worker in (7, 8)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["_unit_id,_worker_id,animal,animal_gold", *rows, ""]))
    found = looked(path)
    assert found["commands"] == [f"quietcrowd infer --non-private {path}"]
    assert list(found["other_commands"].values()) == [f"{found['commands'][0]} --gold {path}"]


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ({"x": 1}, "column 'label' has struct"),
        ([{"x": 1}], "column 'label' has list"),
        (b"\xff", ""),
    ],
)
def test_objects_in_cells(looked, tmp_path, label, told):
    path = tmp_path / "a.parquet"
    write_table(pa.table({"task": ["p"], "worker": ["u"], "label": [label]}), path)
    found = looked(path)
    assert found["commands"] == []
    assert told in found["problems"][0]


def test_rows_that_may_be_workers_or_tasks(looked, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("key,one,two\np,yes,no\nq,no,yes\n")
    found = looked(path)
    assert found["commands"] == []
    assert list(found["other_commands"]) == ["If a row is a worker", "If a row is a task"]


def test_at_most_20_labels(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TABLE + "".join(f"p{place},u,text {place}\n" for place in range(30)))
    found = json.loads(run("look", path, "--json")[1])
    assert (len(found["labels"]), found["different_labels"]) == (20, 30)
    assert "free text" in found["advice"]
    output = run("look", path)[1]
    assert output.count("text ") == 20
    assert "  and 10 others\n" in output


def test_questions_have_counts_and_one_is_chosen(looked, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(FILES["argilla"][1])
    found = looked(path)
    assert found["questions"] == {"sure": 2, "animals": 1}
    chosen = looked(path, "--question", "animals")
    assert chosen["question"] == "animals"
    assert chosen["labels"] == {"cat": 1, "dog": 1}
    assert "--question animals --multi-label cat,dog" in chosen["commands"][0]
    unknown = looked(path, "--question", "animal")
    assert "did you mean 'animals'" in unknown["problems"][0]


def test_reports_truths_and_folders(looked, tmp_path, reports, folder):
    assert looked(reports)["kind"] == "randomized reports of RandomizedResponse"
    found = looked(folder)
    assert found["commands"] == [f"quietcrowd infer --non-private {folder}"]
    truths = looked(folder / "truth.csv")
    assert truths["commands"] == []
    assert f"--gold {folder / 'truth.csv'}" in truths["advice"]
    golden = tmp_path / "golden.tsv"
    golden.write_text('INPUT:url\tGOLDEN:animal\n"a"\t"cat"\n')
    assert looked(golden)["kind"] == "known truths (Toloka results)"


def test_a_store(looked, run, folder, tmp_path):
    source, store = folder / "answers.csv", tmp_path / "store"
    qc.write_answers(qc.load_dataset(folder).answers, tmp_path / "a.parquet")
    words = ("--to", "store", "--non-private", "--labels", "no,yes")
    assert run("convert", tmp_path / "a.parquet", store, *words)[0] == 0
    assert looked(store)["kind"] == "a store"
    assert source.exists()


def test_an_unknown_suffix(looked, tmp_path):
    path = tmp_path / "a.dat"
    path.write_text(f"{TABLE}p,u,cat\np,v,dog\n")
    found = looked(path)
    assert found["commands"] == [f"cp {path} a.csv", "quietcrowd infer --non-private a.csv"]
    assert "the name must end in" in found["problems"][0]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"", "cannot be read as CSV"),
        ("a.bin", bytes(range(256)), "is not UTF-8"),
        ("a.sav", b"", "Save it as CSV in SPSS"),
        ("a.json", b'[{"id": null, "annotations": []}]', "the id is missing"),
        (
            "a.jsonl",
            b'{"id": 1, "text": "x", "annotations": [{"label": 7, "start_offset": 0, "user": 1}]}',
            "is a span",
        ),
        ("a.csv", b"task,worker,label\np,,cat\n", "the id is missing"),
        ("a.csv", b"task,worker,label\n", "contains no answers"),
        ("a.csv", b"task,taskId,performer,workerId,label\np,p,u,u,cat\n", "could each be"),
        ("a.csv", b"task,worker,label\np,u,\"[0, 5, 'PER']\"\n", "is a list or an object"),
    ],
)
def test_files_that_no_command_reads(looked, tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content)
    found = looked(path)
    assert found["commands"] == []
    assert told in " ".join(found["problems"])


def test_comparisons_without_workers(looked, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("left,right,label\na,b,a\n")
    assert "column 'worker' is missing" in looked(path)["problems"][0]


def test_a_table_without_workers(looked, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\nsome words,cat\nothers,dog\n")
    found = looked(path)
    assert found["commands"] == []
    assert "--columns TASK,WORKER,LABEL" in found["advice"]


def test_a_file_with_a_name_like_an_option(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-a.csv").write_text(f"{TABLE}p,u,cat\np,v,dog\n")
    output = run("look", "--", "-a.csv")[1]
    assert output.splitlines()[-1] == "  quietcrowd infer --non-private ./-a.csv"


def test_standard_input(run, monkeypatch):
    class Piped:
        buffer = io.BytesIO(f"{TABLE}p,u,cat\np,v,\n".encode())

        def isatty(self):
            return False

    monkeypatch.setattr(sys, "stdin", Piped())
    status, output, _ = run("look", "-")
    assert status == 0
    assert "- standard input: row 1" in output
    assert output.endswith("  quietcrowd infer --non-private - --drop-invalid\n")


@pytest.mark.parametrize("command", ["infer --non-private", "convert"])
def test_errors_about_unclear_files_point_here(run, tmp_path, command):
    path = tmp_path / "a b.csv"
    path.write_text("item,who,says\np,u,cat\n")
    status, _, errors = run(*command.split(), path)
    assert status == 2
    assert errors.endswith(f" quietcrowd look '{path}' names the columns and the next command.\n")
    assert errors.count("\n") == 1
    path.write_text(f"{TABLE}p,u,cat\np,u,cat\np,,cat\n")
    assert "quietcrowd look" not in run(*command.split(), path)[2]


def test_a_question_that_cannot_be_read_is_not_replaced_by_data(looked, tmp_path):
    ids = {"annotation_id": 1, "annotator": 1}
    path = tmp_path / "a.json"
    rows = [{"id": 1, "text": "x", "tags": [["a", "b"]], **ids, "annotator": who} for who in (1, 2)]
    path.write_text(json.dumps(rows))
    found = looked(path)
    assert found["commands"] == []
    assert "annotation 0, 'tags': expected one answer" in found["problems"][0]


def test_a_question_with_two_texts_is_one(looked, tmp_path):
    rows = [
        {
            **{"classification_id": who, "user_id": who, "workflow_id": 1, "subject_ids": 5},
            "annotations": json.dumps([{"task": "T0", "task_label": text, "value": "yes"}]),
        }
        for who, text in ((1, "Cat?"), (2, "Cat ?"))
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    assert "--question '1 / T0'" in looked(tmp_path / "a.csv")["commands"][0]


def test_annotations_with_the_names_of_workers(looked, tmp_path):
    held = [{"annotator_id": who, "label": "cat"} for who in "uv"]
    path = tmp_path / "a.jsonl"
    path.write_text(jsonl({"id": 1, "text": "x", "annotations": held}))
    assert looked(path)["kind"] == "Hugging Face data set"


@pytest.mark.parametrize(
    ("header", "choose"),
    [
        ('Timestamp,Best?,"Which, if any?"\n', "--wide --questions"),
        (SURVEY + IMPORT_IDS, "--question"),
    ],
)
def test_texts_of_one_question_may_be_several_labels(looked, tmp_path, header, choose):
    qualtrics = header.startswith(SURVEY)
    rows = [("yes", "cat"), ("no", '"dog, big"'), ("yes", '"cat,dog, big"'), ("no", "cat")]
    start = "2024-01-01,1,R_{}" if qualtrics else "2024/01/0{}"
    lines = [f"{start.format(place)},{best},{which}" for place, (best, which) in enumerate(rows, 1)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join([header.strip(), *lines, ""]))
    (other,) = looked(path)["other_commands"].values()
    question = "Q2" if qualtrics else "'\"Which, if any?\"'"
    assert other.endswith(f"{choose} {question} --multi-label 'cat,\"dog, big\"' --separator ,")


def test_times_are_no_tasks(looked, tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"2024/01/0{day} 1:00:00 PM,u{day}@example.org,yes" for day in (1, 2)]
    path.write_text("\n".join(["Carimbo,Endere\u00e7o,Gosta?", *rows, ""]))
    assert looked(path)["commands"] == []


def test_a_winner_shows_that_columns_are_no_questions(looked, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("worker,item_a,item_b,winner\nj1,a,b,a\nj2,a,b,b\n")
    found = looked(path)
    assert found["commands"] == []
    assert "lab rank --non-private FILE" in found["advice"]


@pytest.mark.slow
def test_a_workbook_of_a_platform(looked, tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    table = pa.table({"HITId": ["p"], "WorkerId": ["u"], "Answer.animal": ["cat"]})
    write_table(table, path)
    found = looked(path)
    assert found["commands"] == []
    assert "are those of MTurk batch results. Save it as CSV" in found["advice"]
    header, *rows = [line.split(",") for line in FILES["qualtrics"][1].splitlines()]
    cells = {
        name: [row[place].strip('"').replace('""', '"') for row in rows]
        for place, name in enumerate(header)
    }
    write_table(pa.table(cells), path)
    assert looked(path)["commands"][0].endswith("answers.csv --wide")


def test_a_question_of_a_wide_table_is_chosen(looked, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Timestamp,Cat?,Dog?\n2024/01/01,Yes,No\n2024/01/02,No,No\n")
    assert looked(path, "--question", "Dog?")["commands"][0].endswith("--wide --questions 'Dog?'")


def test_counts_per_label_are_no_workers(looked, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("task,yes,no\np,3,1\nq,1,4\n")
    found = looked(path)
    assert found["commands"] == []
    assert "may be counts per label" in found["advice"]
