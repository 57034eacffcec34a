"""Every format, in and out, and what is refused."""

import gzip
import json

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, FormatError, MissingMechanismError
from quietcrowd.formats import FORMATS, read_table, write_table
from quietcrowd.formats.files import replacing
from quietcrowd.intake import Intake, decoded
from quietcrowd.mechanisms import TwoLayerRandomizedResponse

SUFFIXES = [".csv", ".csv.gz", ".tsv", ".parquet", ".jsonl", ".jsonl.gz"]
DOMAIN = qc.Categorical(["no", "yes"])
CROWD = qc.make_crowd(tasks=30, workers=20, answers_per_task=5)


def rows_of(answers):
    return sorted(map(tuple, answers.to_frame().astype(str).to_numpy().tolist()))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_answers_round_trip(tmp_path, suffix):
    path = tmp_path / f"answers{suffix}"
    qc.write_answers(CROWD.answers, path)
    assert rows_of(qc.read_answers(path, CROWD.answers.domain)) == rows_of(CROWD.answers)
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "nothing is left beside the file"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_column_that_is_a_dictionary_is_written_as_its_values(tmp_path, suffix):
    path = tmp_path / f"truths{suffix}"
    table = pa.table(
        {"task": ["a", "b", "a"], "label": ["no", "yes", "no"], "kind": ["x", "y", "x"]}
    )
    encoded = pa.table({name: table[name].dictionary_encode() for name in table.column_names})
    write_table(encoded, path)
    assert read_table(path, ("task", "label", "kind")).to_pylist() == table.to_pylist()


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "mechanism",
    [
        qc.RandomizedResponse(domain=DOMAIN, epsilon=0.7),
        TwoLayerRandomizedResponse(domain=DOMAIN, low=0.1, high=0.5),
    ],
)
def test_reports_round_trip_with_their_mechanism(tmp_path, suffix, mechanism):
    path = tmp_path / f"reports{suffix}"
    for reports in (
        mechanism.randomize(CROWD.answers),
        mechanism.simulate(CROWD.answers, random_state=1),
    ):
        qc.write_reports(reports, path)
        back = qc.read_reports(path)
        assert back.mechanism == mechanism
        assert back.simulated == reports.simulated
        assert rows_of(back.table) == rows_of(reports.table)
        with pytest.raises(FormatError, match="these are randomized reports"):
            qc.read_answers(path, DOMAIN)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_reports_without_a_mechanism_are_refused(tmp_path, suffix):
    path = tmp_path / f"reports{suffix}"
    qc.write_answers(CROWD.answers, path)
    with pytest.raises(MissingMechanismError, match="the mechanism of these reports is unknown"):
        qc.read_reports(path)


def test_a_csv_file_never_meets_the_mechanism_of_another(tmp_path):
    path = tmp_path / "table.csv"
    mechanism = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
    qc.write_reports(mechanism.randomize(CROWD.answers), path)
    assert (tmp_path / "table.csv.mechanism.json").exists()
    qc.write_answers(CROWD.answers, path)
    assert not (tmp_path / "table.csv.mechanism.json").exists()


def test_a_csv_file_that_changed_is_not_taken_for_reports(tmp_path):
    """Plain answers that are copied over reports keep the sidecar of the reports."""
    path = tmp_path / "reports.csv"
    mechanism = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
    qc.write_reports(mechanism.randomize(CROWD.answers), path)
    qc.write_answers(CROWD.answers, tmp_path / "plain.csv")
    path.write_bytes((tmp_path / "plain.csv").read_bytes())
    with pytest.raises(FormatError, match="the file has changed since"):
        qc.read_reports(path)


@pytest.mark.slow
def test_reports_of_many_devices_are_read_together(tmp_path):
    mechanism = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
    reports = mechanism.randomize(CROWD.answers)
    frame = reports.table.to_frame()
    paths = []
    for place, (worker, rows) in enumerate(frame.groupby("worker")):
        part = qc.Reports(table=qc.Answers.from_frame(rows, DOMAIN), mechanism=mechanism)
        paths.append(tmp_path / f"{worker}{SUFFIXES[place % len(SUFFIXES)]}")
        qc.write_reports(part, paths[-1])
    together = qc.read_reports(*paths)
    assert rows_of(together.table) == rows_of(reports.table)
    with pytest.raises(AnswerError, match=r"worker '0' answered .* already"):
        qc.read_reports(*paths, paths[0])
    other = qc.RandomizedResponse(domain=DOMAIN, epsilon=2.0)
    qc.write_reports(other.randomize(CROWD.answers), tmp_path / "other.csv")
    with pytest.raises(AnswerError, match=r"other\.csv: worker '0' has several reports on task"):
        qc.read_reports(*paths, tmp_path / "other.csv")


WRITTEN = [name for name, one in FORMATS.items() if one.written]
PSEUDONYMS = {"label-studio", "label-studio-min", "label-studio-csv"}
"""Formats in which workers are numbers in the order of their first row."""
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv", *map(nightly, WRITTEN[1:])])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=3, max_size=6), numbers=st.randoms(use_true_random=False))
def test_any_answers_survive(tmp_path, name, texts, numbers):
    """Quotes, commas, zeros in front, what looks like a formula, a date or nothing; no answer."""
    names = [f"{place}{text}x" for place, text in enumerate(texts)]
    rows = [
        (task, worker, numbers.choice([*(f"{text}y" for text in texts), None]))
        for task in names
        for worker in names
    ]
    table = pa.table(
        {
            column: pa.array(cells, pa.string())
            for column, cells in zip(
                ("task", "worker", "label"), zip(*rows, strict=True), strict=True
            )
        }
    )
    table = cleaned(table)
    path = tmp_path / f"any{FORMATS[name].suffixes[0]}"
    write_table(table, path, file_format=name)
    back = cleaned(read_table(path, ("task", "worker", "label"), file_format=name))
    if name in PSEUDONYMS:
        numbered = {
            who: str(place) for place, who in enumerate(table["worker"].unique().to_pylist(), 1)
        }
        found = [numbered[who] for who in table["worker"].to_pylist()]
        table = table.set_column(1, "worker", pa.array(found))
    assert back.to_pylist() == table.to_pylist()


def cleaned(table):
    """Return a table as a reader of answers takes it in."""
    intake = Intake()
    columns = {name: decoded(intake.encoded(table[name], name)) for name in table.column_names}
    return pa.table(columns).filter(pc.is_valid(columns["label"]))


def test_csv_ids_are_texts(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("task,worker,label\n007,1e5,yes\n1.50,2020-01-01,no\n")
    answers = qc.read_answers(path, DOMAIN)
    assert answers.tasks.to_pylist() == ["007", "1.50"]
    assert answers.workers.to_pylist() == ["1e5", "2020-01-01"]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_seen_in_the_header(tmp_path, delimiter):
    path = tmp_path / "answers.csv"
    text = '"task",worker,label\r\n"a, b",u,yes\r\nb,v,no\r\n'
    path.write_bytes(text.replace(",", delimiter).replace(f"a{delimiter} b", "a, b").encode())
    assert qc.read_answers(path, DOMAIN).tasks.to_pylist() == ["a, b", "b"]


def test_numeric_labels_of_a_csv_file(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("\ufefftask,worker,label\na,u,1\na,v,3.0\n", encoding="utf-8")
    assert qc.read_answers(path, qc.Ordinal([1, 2, 3])).values.tolist() == [0, 2]
    assert qc.read_answers(path, qc.Interval(low=0, high=5)).values.tolist() == [1.0, 3.0]


def test_other_column_names_and_further_columns(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("when,item,who,answer\n1,a,u,yes\n2,a,v,no\n")
    assert len(qc.read_answers(path, DOMAIN, "item", "who", "answer")) == 2
    frame = pd.DataFrame({"when": [1], "task": ["a"], "worker": ["u"], "label": ["yes"]})
    write_table(frame, tmp_path / "answers.parquet")
    assert len(qc.read_answers(tmp_path / "answers.parquet", DOMAIN)) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"task,worker,label\na,u\n", "this cannot be read as"),
        ("a.csv", b"", "this cannot be read as"),
        ("a.csv", b"task,worker,label\n", "there is no answer"),
        ("a.csv", b"task,worker\na,u\n", "a.csv: column 'label' is missing"),
        ("a.csv", b"task,worker,label\na,u,maybe\n", "a.csv: row 0, column 'label': 'maybe'"),
        (
            "a.csv",
            b"task,worker,label\na,,yes\n",
            "a.csv: row 0, column 'worker': the id is missing",
        ),
        ("a.csv", b"task,worker,label\na,u,\n", "the answer is missing"),
        ("a.csv", b"task,worker,label\n\xff\xfe,u,yes\n", "line 2: byte 0xff is not UTF-8"),
        ("a.csv.gz", b"task,worker,label\na,u,yes\n", "this cannot be read as"),
        ("a.parquet", b"PAR", "this cannot be read as"),
        ("a.jsonl", b"{]\n", "line 1 is not JSON"),
        ("a.jsonl", b"[1]\n", "record 0: expected a JSON object"),
        ("a.jsonl", b'{"task": 1, "worker": 2}\n', r"no row has the key 'label'; .* --columns"),
        (
            "a.jsonl",
            b'{"task": 1, "worker": 2, "label": "no"}\n{"task": "x", "worker": 2, "label": "no"}\n',
            "key 'task' has values of more than one type: 1 in line 1, and 'x' in line 2",
        ),
        ("a.jsonl.gz", b'{"task": 1}\n', "this cannot be read as"),
        ("a.rtx", b"", "the name must end in one of .csv, .csv.gz, .tsv"),
    ],
)
def test_bad_files_name_the_place(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((FormatError, AnswerError), match=message):
        qc.read_answers(path, DOMAIN)


@pytest.mark.grid
@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_bytes_raise_anything_else(tmp_path, suffix, content):
    path = tmp_path / f"noise{suffix}"
    path.write_bytes(content)
    for read in (lambda: qc.read_answers(path, DOMAIN), lambda: qc.read_reports(path)):
        with pytest.raises((FormatError, AnswerError), match=path.name):
            read()


@pytest.mark.parametrize(
    "note",
    ["[]", "{]", '{"mechanism": {}}', '{"mechanism": 3}', '{"mechanism": {}, "simulated": 7}'],
)
def test_bad_sidecars_are_format_errors(tmp_path, note):
    path = tmp_path / "reports.csv"
    path.write_text("task,worker,label\na,u,yes\n")
    (tmp_path / "reports.csv.mechanism.json").write_text(note)
    with pytest.raises(FormatError):
        qc.read_reports(path)


def test_a_report_that_the_mechanism_cannot_give_is_refused(tmp_path):
    path = tmp_path / "reports.csv"
    mechanism = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
    path.write_text("task,worker,label\na,u,perhaps\n")
    (tmp_path / "reports.csv.mechanism.json").write_text(
        json.dumps({"mechanism": mechanism.to_dict()})
    )
    with pytest.raises(
        AnswerError, match=r"reports\.csv: row 0, column 'label': 'perhaps' is outside"
    ):
        qc.read_reports(path)


def test_parquet_metadata_of_others_is_let_be(tmp_path):
    table = pa.table({"task": ["a"], "worker": ["u"], "label": ["yes"]})
    pq.write_table(table.replace_schema_metadata({"other": "x"}), tmp_path / "a.parquet")
    assert len(qc.read_answers(tmp_path / "a.parquet", DOMAIN)) == 1


def test_missing_files_are_os_errors(tmp_path):
    for suffix in SUFFIXES:
        with pytest.raises(OSError, match="missing"):
            qc.read_answers(tmp_path / f"missing{suffix}", DOMAIN)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_infer_writes_can_be_read_as_truths(tmp_path, suffix):
    estimate = qc.MajorityVote().fit(CROWD.answers)
    write_table(estimate.truths, tmp_path / f"truths{suffix}")
    truths = qc.read_truths(tmp_path / f"truths{suffix}")
    assert truths.column_names == ["task", "label"]
    assert qc.error_rate(estimate, truths) == 0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_truths_without_a_column_are_refused(tmp_path, suffix):
    write_table(pd.DataFrame({"task": [1], "said": [2]}), tmp_path / f"truths{suffix}")
    with pytest.raises(FormatError, match=r"label|truth"):
        qc.read_truths(tmp_path / f"truths{suffix}")


def test_suffixes_in_capitals(tmp_path):
    for name in ("a.CSV.GZ", "a.JSONL.GZ"):
        qc.write_answers(CROWD.answers, tmp_path / name)
        assert gzip.decompress((tmp_path / name).read_bytes())
        assert rows_of(qc.read_answers(tmp_path / name, DOMAIN)) == rows_of(CROWD.answers)


@pytest.mark.parametrize("suffix", [".ndjson", ".ndjson.gz"])
def test_ndjson_is_json_lines(tmp_path, suffix):
    qc.write_answers(CROWD.answers, tmp_path / f"a{suffix}")
    assert rows_of(qc.read_answers(tmp_path / f"a{suffix}", DOMAIN)) == rows_of(CROWD.answers)


@pytest.mark.slow
def test_line_ends_within_ids_of_a_long_file(tmp_path):
    many = 60_000
    frame = pd.DataFrame(
        {"task": [f"line\n{i}, of many" for i in range(many)], "worker": "u", "label": "no"}
    )
    answers = qc.Answers.from_frame(frame, DOMAIN)
    qc.write_answers(answers, tmp_path / "long.csv")
    assert (tmp_path / "long.csv").stat().st_size > 2**20
    assert qc.read_answers(tmp_path / "long.csv", DOMAIN).tasks.equals(answers.tasks.cast("string"))


@pytest.mark.parametrize("note", ["3", '"mechanism"', '["mechanism"]', "[" * 100_000])
def test_strange_notes_are_format_errors(tmp_path, note):
    table = pa.table({"task": ["a"], "worker": ["u"], "label": ["yes"]})
    pq.write_table(table.replace_schema_metadata({"quietcrowd": note}), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text(f"{note}\n")
    for name in ("a.parquet", "a.jsonl"):
        with pytest.raises(FormatError):
            qc.read_reports(tmp_path / name)


def test_truth_files(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("task,label\n01,yes\n")
    assert qc.read_truths(path).to_pylist() == [{"task": "01", "label": "yes"}]


def test_an_interrupted_write_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("old")

    def write_half():
        with replacing(path) as temporary:
            temporary.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_gz_files_are_gz_files(tmp_path):
    for name in ("a.csv.gz", "a.jsonl.gz"):
        qc.write_answers(CROWD.answers, tmp_path / name)
        assert gzip.decompress((tmp_path / name).read_bytes())


def test_rows_of_a_text_file_have_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("task,worker,label\nt,u,no\nt,v,maybe\n")
    message = r"row 1, .* below the header: row 1 is line 3 of the file\.$"
    with pytest.raises(AnswerError, match=message):
        qc.read_answers(path, qc.Categorical(["no", "yes"]))
    lines = [json.dumps(row) for row in pd.read_csv(path).to_dict("records")]
    (tmp_path / "a.ndjson").write_text("\n\n".join(lines))
    with pytest.raises(AnswerError, match=r"row 1 is line 3 of the file\.$"):
        qc.read_answers(tmp_path / "a.ndjson", qc.Categorical(["no", "yes"]))
    table = pd.read_csv(path)
    table.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(AnswerError, match=r"below the header\.$"):
        qc.read_answers(tmp_path / "a.parquet", qc.Categorical(["no", "yes"]))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.jsonl"])
def test_utf_16_is_known_by_its_first_bytes(tmp_path, encoding, name):
    path = tmp_path / name
    text = "task,worker,label\nö,u,no\n"
    if name == "a.jsonl":
        text = '{"task": "ö", "worker": "u", "label": "no"}\n'
    content = f"\ufeff{text}".encode(encoding)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    answers = qc.read_answers(path, qc.Categorical(["no", "yes"]))
    assert rows_of(answers) == [("ö", "u", "no")]


TWICE = '{"task": "t", "worker": "a", "label": "no", "label": "yes"}'
LABEL_STUDIO = (
    '[{"id": 1, "data": {"q": "?"}, "annotations": [{"completed_by": 1, "completed_by": 2, '
    '"result": []}]}]'
)
ARGILLA = '[{"id": "1", "responses": [], "responses": []}]'


@pytest.mark.parametrize(
    ("name", "text", "written_by"),
    [
        ("answers.jsonl", TWICE, "jsonl"),
        ("answers.json", LABEL_STUDIO, "label-studio"),
        ("answers.json", ARGILLA, "argilla"),
        ("answers.jsonl", '{"id": 1, "label": ["no"], "label": ["yes"]}', "doccano"),
    ],
)
def test_a_name_that_stands_twice_is_refused(tmp_path, name, text, written_by):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FormatError, match=rf"{name}.* is named twice in one object"):
        qc.read_answers(path, qc.Categorical(["no", "yes"]), file_format=written_by)
