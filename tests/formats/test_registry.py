"""The same answers are the same from every format, and what is read is written alike."""

import contextlib
import itertools
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    DroppedRowsWarning,
    FormatError,
    MissingMechanismError,
    ParameterError,
)
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.kinds import FORMATS, find_format
from quietcrowd.formats.registry import holds_truths, read_table, write_table
from quietcrowd.mechanisms import MatrixFactorization

PEERS = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
DOMAIN = qc.Categorical(["no", "yes"])
FILES = {
    **{
        f"{one.name}{one.suffixes[0]}": one
        for one in FORMATS.values()
        if one.written and one.name != "excel"  # which needs openpyxl: test_excel
    },
    "table.tsv": FORMATS["csv"],
    "packed.csv.gz": FORMATS["csv"],
    "packed.jsonl.gz": FORMATS["jsonl"],
    "packed.tsv.gz": FORMATS["toloka"],
    "packed.json.gz": FORMATS["label-studio"],
}
PACKED = ("packed.jsonl.gz", "packed.tsv.gz", "packed.json.gz")
"""By day one packed file, ``packed.csv.gz``, is tried with many texts."""

ANSWERS = ("task", "worker", "label")
HELD = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5
)
TEXTS = HELD | st.sampled_from(
    ["=1+1", "'=1+1", "-1", "a\tb", 'a"b', "a\r\nb", "\ufeffa", "@", "'"]
)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_the_same_answers_are_read_from_every_format(tmp_path, file):
    crowd = qc.make_crowd(tasks=7, workers=5, answers_per_task=3, random_state=1)
    frame = crowd.answers.to_frame().astype({"task": str, "worker": str})
    if FILES[file].name.startswith(
        "label-studio"
    ):  # workers are numbers in the order of their first row
        numbers = {worker: place for place, worker in enumerate(frame["worker"].unique(), start=1)}
        expected = frame.assign(worker=frame["worker"].map(numbers).astype(str))
    else:
        expected = frame
    domain = crowd.answers.domain
    write_table(frame, tmp_path / file, file_format=FILES[file].name)
    answers = qc.read_answers(tmp_path / file, domain)
    meant = qc.Answers.from_frame(expected, domain)
    for name in ("tasks", "workers"):
        assert getattr(answers, name).to_pylist() == getattr(meant, name).to_pylist()
    for name in ("offsets", "worker_codes", "values"):
        assert np.array_equal(getattr(answers, name), getattr(meant, name))


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("file", [nightly(name) if name in PACKED else name for name in FILES])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=6))
def test_what_is_written_and_read_is_written_alike(tmp_path, file, rows):
    if FILES[file].name == "mturk":  # where it separates labels
        rows = [(task, worker, label.replace("|", "/")) for task, worker, label in rows]
    table = pa.table(dict(zip(ANSWERS, map(list, zip(*rows, strict=True)), strict=True)))
    written = []
    for _ in range(2):
        write_table(table, tmp_path / file, file_format=FILES[file].name)
        written.append((tmp_path / file).read_bytes())
        found = read_table(tmp_path / file, ANSWERS)
        if not FILES[file].name.startswith("label-studio"):
            assert found.to_pylist() == table.to_pylist()
        table = found
    assert written[0] == written[1]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("labels", [[1, None, -3], [0.5, -2.0, None], [True, False, True]])
def test_numbers_are_written_alike_too(tmp_path, file, labels):
    kind = FILES[file].name
    table = pa.table({"task": [7, 8, 8], "worker": [1, 1, 2], "label": labels})
    written = []
    for _ in range(2):
        write_table(table, tmp_path / file, file_format=kind)
        written.append((tmp_path / file).read_bytes())
        table = read_table(tmp_path / file, ANSWERS)
    assert written[0] == written[1]
    if True not in labels:
        found = table["label"].to_pylist()
        assert [None if label is None else float(label) for label in found] == labels


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_reports_carry_what_made_them(tmp_path, file):
    mechanism = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
    frame = pd.DataFrame({"task": ["b", "a"], "worker": ["v", "u"], "label": ["no", "yes"]})
    answers = qc.Answers.from_frame(frame, DOMAIN, tasks=["a", "b", "c"], workers=["u", "v", "w"])
    reports = mechanism.simulate(answers, random_state=1)
    qc.write_reports(reports, tmp_path / file, file_format=FILES[file].name)
    found = qc.read_reports(tmp_path / file)
    assert found.mechanism == mechanism
    assert found.simulated
    assert found.table.tasks.to_pylist() == ["a", "b", "c"]
    assert found.table.values.tolist() == reports.table.values.tolist()
    assert len(found.table.workers) == 3
    with pytest.raises(FormatError, match="these are randomized reports"):
        qc.read_answers(tmp_path / file, DOMAIN)
    places = [path.read_bytes() for path in tmp_path.iterdir()]
    assert any(b"do not majority-vote them" in place for place in places) or "gz" in file
    before = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    qc.write_reports(found, tmp_path / file, file_format=FILES[file].name)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == before


@pytest.mark.parametrize("file", FILES)
def test_reports_that_lost_their_mechanism_are_refused(tmp_path, file):
    table = pa.table({"task": ["a"], "worker": ["u"], "label": ["yes"]})
    write_table(table, tmp_path / file, file_format=FILES[file].name)
    with pytest.raises(MissingMechanismError, match="Otherwise, restore the mechanism"):
        qc.read_reports(tmp_path / file)


@pytest.mark.parametrize(
    "name", [one.name for one in FORMATS.values() if one.platform and one.written]
)
def test_reports_of_more_than_a_label_do_not_fit_platforms(tmp_path, name):
    domain = qc.Interval(low=0, high=1)
    frame = pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [0.5]})
    answers = qc.Answers.from_frame(frame, domain, tasks=["a"], workers=["u"])
    path = tmp_path / f"r{FORMATS[name].suffixes[0]}"
    for mechanism in (
        qc.LaplaceMechanism(domain=domain, epsilon=1.0, participation="released"),
        MatrixFactorization(domain=domain, epsilon=1.0),
    ):
        reports = mechanism.simulate(answers, random_state=1)
        with pytest.raises(ParameterError, match=r"stores task, worker and label, not .*\.parquet"):
            qc.write_reports(reports, path, file_format=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "name", "told"),
    [
        ("a.csv", "mturc", "format must be one of csv, .*; did you mean 'mturk'"),
        ("a.csv", "toloka", r"must end in \.tsv or \.tsv\.gz"),
        ("a.jsonl", "label-studio", r"must end in \.json or \.json\.gz"),
        ("a.json", None, "quietcrowd convert makes Label Studio JSON from it"),
        ("a.ods", None, r"with a name that ends in \.csv"),
        ("a.zip", None, r"with a name that ends in \.csv"),
    ],
)
def test_what_cannot_be_written(tmp_path, file, name, told):
    table = pa.table({"task": ["a"], "worker": ["u"], "label": ["yes"]})
    with pytest.raises((ParameterError, FormatError), match=told):
        write_table(table, tmp_path / file, file_format=name)
    assert list(tmp_path.iterdir()) == []


def test_choices_are_of_platforms(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("task,worker,label\na,u,yes\n")
    for choice in ({"field": "label"}, {"rejected": True}):
        with pytest.raises(ParameterError, match="only in files of platforms"):
            qc.read_answers(path, DOMAIN, **choice)
    assert find_format(path).name == "csv"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"task,worker,label\na,u,yes\nb,u\n", r"Row #3: Expected 3 columns, got 2: b,u"),
        (b"task,worker,label\na,u,yes\n\xff,u,no\n", "line 3: byte 0xff is not UTF-8"),
        (b"task,task,worker,label\na,b,u,yes\n", "2 columns have the name 'task'"),
        (b"t\0a\0", "this seems to be UTF-16 without a byte order mark"),
        (b"\n\n", "this cannot be read as CSV in UTF-8"),
    ],
)
def test_bad_tables_name_the_row(tmp_path, content, told):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(FormatError, match=told):
        qc.read_answers(tmp_path / "a.csv", DOMAIN)


def test_blank_lines_before_a_header_change_no_id(tmp_path):
    (tmp_path / "a.csv").write_text("\n\r\ntask,worker,label\n007,01,yes\n")
    answers = qc.read_answers(tmp_path / "a.csv", DOMAIN)
    assert (answers.tasks.to_pylist(), answers.workers.to_pylist()) == (["007"], ["01"])


@pytest.mark.parametrize(
    "header", ["task,performer,label", "taskId,workerId,answer", "answer;workerId;task"]
)
def test_names_of_other_programs_in_every_table(tmp_path, header):
    names = header.replace(";", ",").split(",")
    cells = {"task": "a", "taskId": "a", "performer": "u", "workerId": "u"}
    row = [cells.get(name, "yes") for name in names]
    (tmp_path / "a.csv").write_text(f"{header}\n{(';' if ';' in header else ',').join(row)}\n")
    (tmp_path / "a.jsonl").write_text(json.dumps(dict(zip(names, row, strict=True))) + "\n")
    write_table(pa.table(dict(zip(names, [[cell] for cell in row], strict=True))),
                tmp_path / "a.parquet")  # fmt: skip
    for suffix in (".csv", ".jsonl", ".parquet"):
        answers = qc.read_answers(tmp_path / f"a{suffix}", DOMAIN)
        assert answers.to_frame().to_numpy().tolist() == [["a", "u", "yes"]]
        assert not holds_truths(tmp_path / f"a{suffix}", ANSWERS)


@pytest.mark.skipif(not PEERS.exists(), reason="crowd-kit is not installed: make bench does it")
def test_crowd_kit_takes_the_file_as_it_is(program, tmp_path):
    crowd = qc.make_crowd(tasks=30, workers=10, answers_per_task=5, random_state=1)
    qc.write_answers(crowd.answers, tmp_path / "answers.csv", file_format="crowd-kit")
    code = (
        "import pandas as pd; from crowdkit.aggregation import DawidSkene; "
        f"found = DawidSkene().fit_predict(pd.read_csv({str(tmp_path / 'answers.csv')!r})); "
        f"found.to_csv({str(tmp_path / 'truths.csv')!r})"
    )
    program(PEERS, "-c", code).finished(check=True)
    truths = qc.read_truths(tmp_path / "truths.csv")
    assert len(truths) == 30
    assert qc.error_rate(qc.DawidSkene().fit(crowd.answers), truths) < 0.2


HEADERS = {
    "mturk.csv": b"HITId,WorkerId,AssignmentStatus,Answer.a\n",
    "toloka.tsv": b"INPUT:a\tOUTPUT:a\tGOLDEN:a\tASSIGNMENT:worker_id\tASSIGNMENT:status\n",
    "label-studio.json": b'[{"id": 1, "annotations": [{"completed_by": 1, "result": ',
    "crowd-kit.csv": b"task,performer,label\n",
    "argilla.json": b'[{"id": 1, "responses": {"q": [{"user_id": ',
    "doccano.jsonl": b'{"id": 1, "text": "x", "label": ["a"',
    "prodigy.jsonl": b'{"_input_hash": 1, "_task_hash": 2, "answer": "accept", "label": ',
    "zooniverse.csv": b"classification_id,user_id,workflow_id,annotations,subject_ids\n",
    "labelbox.ndjson": b'{"data_row": {"id": 1}, "projects": {"p": {"labels": [',
    "kili.json": b'[{"externalId": 1, "labels": [{"jsonResponse": ',
    "appen.csv": b"_unit_id,_worker_id,animal,animal_gold\n",
    "sagemaker.manifest": b'{"source": "a", "b": 1, "b-metadata": ',
    "rows.json": b'[{"task": 1, "worker": 2, "label": ',
    "mturk-api.json": b'{"Assignments": [{"HITId": "a", "Answer": ',
}


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("file", HEADERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | st.text('\t\n\r",;=ab', max_size=40).map(str.encode))
def test_no_bytes_after_a_header_raise_anything_else(tmp_path, file, content):
    path = tmp_path / file
    path.write_bytes(HEADERS[file] + content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedRowsWarning)
        for read in (lambda: qc.read_answers(path, DOMAIN), lambda: qc.read_reports(path)):
            with pytest.raises((FormatError, AnswerError), match=file):
                read()
    with contextlib.suppress(FormatError):
        assert qc.read_truths(path).column_names == ["task", "label"]


KEYS = [
    *("id", "data", "task", "annotations", "predictions", "completed_by", "result", "type"),
    *("from_name", "value", "choices", "number", "was_cancelled", "ground_truth", "score"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*KEYS, "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=12,
)
RESULT = st.fixed_dictionaries(
    {"type": st.sampled_from(["choices", "number", "x"]), "value": JSON, "from_name": JSON}
)
TASK = st.fixed_dictionaries(
    {"id": st.integers() | JSON, "data": JSON},
    optional={
        "annotations": JSON
        | st.lists(st.fixed_dictionaries({"completed_by": JSON, "result": st.lists(RESULT)})),
        "predictions": JSON | st.lists(st.fixed_dictionaries({"result": st.lists(RESULT)})),
    },
)


@pytest.mark.nightly
@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tasks=st.lists(TASK, max_size=2) | JSON)
def test_no_json_raises_anything_else(tmp_path, tasks):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(tasks))
    reads = (lambda: qc.read_answers(path, DOMAIN), lambda: qc.read_truths(path))
    for read in reads:
        with (
            warnings.catch_warnings(),
            contextlib.suppress(FormatError, AnswerError),
        ):
            warnings.simplefilter("ignore", DroppedRowsWarning)
            read()


_ANSWER = st.fixed_dictionaries({"value": JSON, "user_id": JSON}, optional={"updated_at": JSON})
RECORDS = {
    "argilla": st.fixed_dictionaries(
        {"responses": st.dictionaries(st.sampled_from(KEYS), JSON | st.lists(_ANSWER, max_size=2))},
        optional={"id": JSON},
    ),
    "doccano": st.fixed_dictionaries(
        {"id": st.integers() | JSON},
        optional={
            "label": JSON,
            "annotations": st.lists(st.fixed_dictionaries({"label": JSON, "user": JSON})),
        },
    ),
    "prodigy": st.fixed_dictionaries(
        {"_input_hash": JSON, "answer": st.sampled_from(["accept", "reject"]) | JSON},
        optional=dict.fromkeys(
            ("_annotator_id", "_timestamp", "label", "accept", "options", "config"), JSON
        ),
    ),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_record_raises_anything_else(tmp_path, name, data):
    records = data.draw(st.lists(RECORDS[name], max_size=2))
    path = tmp_path / "a.json"
    path.write_text(json.dumps(records))
    with warnings.catch_warnings(), contextlib.suppress(FormatError):
        warnings.simplefilter("ignore", DroppedRowsWarning)
        read_table(path, ANSWERS, file_format=name, sets=True)


CLASSIFICATION = {"task": "T0", "task_label": "Q?", "value": [{"select_label": "S", "label": "x"}]}
EXPORTS = {
    "zooniverse": [CLASSIFICATION, {"task": "T1", "value": [CLASSIFICATION | {"value": ["x"]}]}],
    "labelbox": {
        "data_row": {"id": "d"},
        "projects": {
            "p": {
                "name": "P",
                "labels": [
                    {
                        "label_details": {"created_by": "u", "created_at": "2024"},
                        "performance_details": {"skipped": False},
                        "annotations": {
                            "objects": [{"name": "box"}],
                            "classifications": [
                                {"name": "Q?", "checklist_answers": [{"name": "x"}]},
                                {"name": "T0", "radio_answer": {"name": "x", "value": "x"}},
                                {"name": "T1", "text_answer": {"content": "x"}},
                            ],
                        },
                    }
                ],
            }
        },
    },
    "kili": {
        "externalId": "a",
        "labels": [
            {
                "author": {"email": "u"},
                "labelType": "DEFAULT",
                "isLatestLabelForUser": True,
                "createdAt": "2024",
                "jsonResponse": {
                    "T0": {"categories": [{"name": "x", "children": {"Q?": {"text": "x"}}}]},
                    "T1": {"annotations": []},
                },
            }
        ],
    },
    "mturk-api": {
        "HITId": "h",
        "WorkerId": "w",
        "AssignmentStatus": "Approved",
        "SubmitTime": 9,
        "Answer": "<a><Answer><QuestionIdentifier>T0</QuestionIdentifier><FreeText>x</FreeText>"
        "</Answer></a>",
    },
    "sagemaker": {
        "answers": [
            {
                "answerContent": {"T0": {"x": True}, "T1": {"labels": ["x"]}, "Q?": "x"},
                "submissionTime": "2024-01-01",
                "workerId": "w",
            }
        ]
    },
    "appen": {
        "id": 1,
        "state": "golden",
        "data": {"T0_gold": ["x"]},
        "results": {
            "judgments": [
                {"worker_id": 1, "tainted": False, "created_at": "", "data": {"T0": ["x"]}}
            ]
        },
    },
    "hugging-face": {"id": 1, "T0": [1, 2], "workers": ["a", "b"], "Q?": [{"T1": ["x"]}]},
}


def with_part(whole, place, part):
    """Return a JSON value with another part at a place, counted depth first."""
    places = itertools.count()

    def copy(one):
        if next(places) == place:
            return part
        if isinstance(one, dict):
            return {name: copy(inside) for name, inside in one.items()}
        return [copy(inside) for inside in one] if isinstance(one, list) else one

    return copy(whole)


@pytest.mark.grid
@pytest.mark.parametrize("kind", EXPORTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 45), part=JSON, field=st.sampled_from([None, "Q?", "T0", "T1"]))
def test_no_damage_inside_an_export_raises_anything_else(tmp_path, kind, place, part, field):
    export = with_part(EXPORTS[kind], place, part)
    path = tmp_path / f"a.{'csv' if kind == 'zooniverse' else 'json'}"
    if kind == "zooniverse":
        cells = {
            "user_id": 7,
            "workflow_id": 1,
            "subject_ids": 5,
            "annotations": json.dumps(export),
        }
        pd.DataFrame([cells]).to_csv(path, index=False)
    else:
        path.write_text(json.dumps([export]))
    choice = Choice(field=field)
    with warnings.catch_warnings(), contextlib.suppress(FormatError):
        warnings.simplefilter("ignore", DroppedRowsWarning)
        read_table(path, ANSWERS, file_format=kind, choice=choice, sets=True)


@pytest.mark.slow
def test_a_table_loads_no_module_of_another_format(program, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("task,worker,label\na,u,yes\n")
    code = (
        "import sys; import quietcrowd as qc; "
        f"qc.read_answers({str(path)!r}, qc.Categorical(['no', 'yes'])); print(*sys.modules)"
    )
    loaded = program(sys.executable, "-c", code).finished(check=True).output.split()
    modules = {f"quietcrowd.formats.{one.module}" for one in FORMATS.values()}
    assert modules & set(loaded) == {"quietcrowd.formats.csv"}
    assert not [name for name in loaded if name.startswith("quietcrowd.formats.platforms")]


@pytest.mark.parametrize("name", [one.name for one in FORMATS.values() if not one.written])
def test_some_formats_are_read_alone(tmp_path, name):
    table = pa.table({"task": ["a"], "worker": ["u"], "label": ["yes"]})
    path = tmp_path / f"r{FORMATS[name].suffixes[0]}"
    with pytest.raises(ParameterError, match="can be read, but not written"):
        write_table(table, path, file_format=name)


@pytest.mark.parametrize("label", [{"x": 1}, ["x"]], ids=["object", "list"])
def test_a_cell_that_holds_several_things_is_an_error(tmp_path, label):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"task": "t", "worker": "w", "label": label}))
    with pytest.raises(FormatError, match=r"a\.jsonl: column 'label' has (struct|list)<"):
        read_table(path, ("task", "worker", "label"))
