"""Label Studio's CSV, whose columns come by name; the golden file is invented."""

import pandas as pd
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import read_table, write_table

DOMAIN = qc.Categorical(["cat", "dog"])
HEADER = "annotation_id,animal,annotator,created_at,id,image,lead_time,sure,updated_at\n"
NUMBER = '"[{""rating"": 3}]"'


def test_annotations_are_answers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{HEADER}1,cat,a@b,x,7,7.png,3.5,{NUMBER},x\n2,dog,4,x,7,7.png,1.0,,x\n")
    answers = qc.read_answers(path, DOMAIN, field="animal")
    assert answers.to_frame().to_numpy().tolist() == [["7", "a@b", "cat"], ["7", "4", "dog"]]
    levels = qc.Ordinal(range(5))
    sure = qc.read_answers(path, levels, field="sure", out_of_domain="skip")
    assert sure.values.tolist() == [3]
    with pytest.raises(FormatError, match=r"'animal', 'image', 'sure'\. Choose one with"):
        qc.read_answers(path, DOMAIN)


def test_what_is_written(tmp_path):
    table = pa.table(
        {"task": ["=t", "t"], "worker": ["ann@example.org", "bob"], "label": [3, None]}
    )
    write_table(table, tmp_path / "a.csv", file_format="label-studio-csv")
    assert (tmp_path / "a.csv").read_text() == (
        '"task","id","label","annotator","annotation_id","created_at","updated_at","lead_time"\n'
        '"\'=t",1,"[{""number"": 3}]",1,1,,,\n"t",2,,2,2,,,\n'
    )
    found = pd.read_csv(tmp_path / "a.csv")
    assert found["annotator"].tolist() == [1, 2]
    answers = qc.read_answers(tmp_path / "a.csv", qc.Ordinal(range(5)), out_of_domain="skip")
    assert answers.values.tolist() == [3]
    assert answers.tasks.to_pylist() == ["=t", "t"]


def test_choices_that_look_like_json_are_texts(tmp_path):
    labels = ["[cat]", "[{cat", '[{"a']
    table = pa.table({"task": ["t"] * 3, "worker": ["u", "v", "w"], "label": labels})
    write_table(table, tmp_path / "a.csv", file_format="label-studio-csv")
    answers = qc.read_answers(tmp_path / "a.csv", qc.Categorical(labels))
    assert answers.values.tolist() == [0, 1, 2]


def rows(path, field, *, sets=False):
    table = read_table(path, ("task", "worker", "label"), choice=Choice(field=field), sets=sets)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_several_choices_are_sets(tmp_path):
    path = tmp_path / "a.csv"
    both = '"{""choices"": [""cat"", ""dog""]}"'
    path.write_text(f"{HEADER}1,{both},3,x,7,i,1,,x\n2,cat,4,x,7,i,1,,x\n")
    assert rows(path, "animal", sets=True) == [("7", "3", ["cat", "dog"]), ("7", "4", ["cat"])]


def test_levels_of_a_taxonomy_are_joined(tmp_path):
    path = tmp_path / "a.csv"
    kind = '"[{""taxonomy"": [[""animal"", ""cat""]]}]"'
    path.write_text(f"{HEADER}1,{kind},3,x,7,i,1,,x\n")
    assert rows(path, "animal") == [("7", "3", "animal / cat")]


def test_tabs_may_separate_cells(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(f"{HEADER}1,cat,3,x,7,i,1,,x\n".replace(",", "\t"))
    assert rows(path, "animal") == [("7", "3", "cat")]


def test_a_quoted_empty_cell_is_a_missing_answer(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        f'{HEADER}"1","cat","3","x","7","i","1","","x"\n"2","","4","x","7","i","1","","x"\n'
    )
    assert rows(path, "animal") == [("7", "3", "cat"), ("7", "4", None)]


def test_the_latest_annotation_is_last(tmp_path):
    path = tmp_path / "a.csv"
    times = ("2024-05-02T10:00:00.000000Z", "2024-05-01T10:00:00.000000Z")
    path.write_text(
        f"{HEADER}1,cat,3,x,7,i,1,,{times[0]}\n2,dog,3,x,7,i,1,,{times[1]}\n", encoding="utf-8"
    )
    answers = qc.read_answers(path, DOMAIN, field="animal", duplicates="last")
    assert answers.to_frame().to_numpy().tolist() == [["7", "3", "cat"]]


def test_sets_are_written(tmp_path):
    sets = [["a", "b"], ["c"], []]
    table = pa.table({"task": ["t"] * 3, "worker": list("123"), "label": sets})
    write_table(table, tmp_path / "a.csv", file_format="label-studio-csv")
    assert [row[2] for row in rows(tmp_path / "a.csv", "label", sets=True)] == sets


def test_choices_that_are_json_are_written_as_json(tmp_path):
    labels = ['{"choices": ["a"]}', "{}", '[{"number": 1}]']
    table = pa.table({"task": ["t"] * 3, "worker": ["u", "v", "w"], "label": labels})
    write_table(table, tmp_path / "a.csv", file_format="label-studio-csv")
    assert [row[2] for row in rows(tmp_path / "a.csv", "label")] == labels


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            '1,"[{""start"": 0, ""end"": 5, ""labels"": [""PER""]}]",1,x,7,i,1,,x',
            r"annotation 0, 'animal': expected one answer \(choices, .*; got \[{'start'",
        ),
        ("1,cat,1,x,,i,1,,x", "annotation 0: 'id' and 'annotator' must be ids"),
        ("1,cat,,x,7,i,1,,x", "annotation 0: 'id' and 'annotator' must be ids"),
    ],
)
def test_bad_rows_are_named(tmp_path, row, told):
    (tmp_path / "a.csv").write_text(f"{HEADER}{row}\n")
    with pytest.raises(FormatError, match=told):
        qc.read_answers(tmp_path / "a.csv", DOMAIN, field="animal")
