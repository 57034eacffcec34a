"""Full reports and JSON reports of Appen; all rows are invented."""

import csv
import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError, QuietcrowdWarning
from quietcrowd.formats import read_table
from quietcrowd.formats.columns import Choice

DOMAIN = qc.Categorical(["cat", "dog"])
COLUMNS = ("task", "worker", "label")
BEFORE = (
    *("_unit_id", "_created_at", "_golden", "_id", "_missed", "_started_at", "_tainted"),
    *("_channel", "_trust", "_worker_id", "_country", "_region", "_city", "_ip"),
)
GOLDEN = ("orig__golden", "animal_gold", "animal_gold_reason", "url")


def report(path, *rows, questions=("animal",), after=GOLDEN):
    header = (*BEFORE, *questions, *after)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, header, restval="", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    return path


def judgment(unit, worker, answer, gold="", **others):
    return {
        "_unit_id": unit,
        "_created_at": "1/13/2016 10:00:00",
        "_golden": "true" if gold else "false",
        "_tainted": "false",
        "_trust": "0.9",
        "_worker_id": worker,
        "animal": answer,
        "animal_gold": gold,
        "url": "http://x/1",
        **others,
    }


JUDGMENTS = (
    judgment("701", "31", "cat", "cat"),
    judgment("701", "32", "dog", "cat"),
    judgment("702", "31", "dog"),
    judgment("702", "33", "cat", _tainted="true"),
    judgment("703", "32", ""),
)


def unit(number, judgments, **others):
    return {
        "id": number,
        "data": {"url": "http://x/1"},
        "judgments_count": len(judgments),
        "state": "finalized",
        "job_id": 9,
        "results": {
            "judgments": [
                {
                    "id": 100 + place,
                    "created_at": "2016-01-13T10:00:00+00:00",
                    "golden": False,
                    "tainted": worker == 33,
                    "trust": 0.9,
                    "worker_id": worker,
                    "unit_id": number,
                    "data": {"animal": answer},
                }
                for place, (worker, answer) in enumerate(judgments)
            ],
            "animal": {"agg": "cat", "confidence": 0.7},
        },
        **others,
    }


UNITS = (
    unit(
        701,
        [(31, "cat"), (32, "dog")],
        state="golden",
        data={"url": "http://x/1", "animal_gold": "cat", "_golden": "true"},
    ),
    unit(702, [(31, "dog"), (33, "cat")]),
    unit(703, [(32, None)]),
)


def lines(path, *units):
    path.write_text("\n".join(map(json.dumps, units)))
    return path


def rows(path, field=None, *, sets=False):
    table = read_table(path, COLUMNS, choice=Choice(field=field), sets=sets)
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.fixture(params=["table", "units", "list"])
def path(request, tmp_path):
    if request.param == "table":
        return report(tmp_path / "f9.csv", *JUDGMENTS)
    if request.param == "units":
        return lines(tmp_path / "job_9.json", *UNITS)
    (tmp_path / "job_9.json").write_text(json.dumps(UNITS))
    return tmp_path / "job_9.json"


def test_a_judgment_is_an_answer_and_tainted_ones_are_told(path):
    with pytest.warns(DroppedRowsWarning, match=r"dropped rows: tainted judgments .*: 1$"):
        found = rows(path)
    assert found == [
        ("701", "31", "cat"),
        ("701", "32", "dog"),
        ("702", "31", "dog"),
        ("703", "32", None),
    ]
    table = read_table(path, COLUMNS, choice=Choice(rejected=True))
    assert table.to_pylist()[3] == {"task": "702", "worker": "33", "label": "cat"}


def test_test_questions_are_known_truths(path):
    assert qc.read_truths(path).to_pylist() == [{"task": "701", "label": "cat"}]
    assert qc.read_truths(path, field="animal").num_rows == 1


def test_questions_stand_before_the_data(tmp_path):
    rows_of = [judgment("1", "31", "cat", comment="so so")]
    path = report(tmp_path / "f.csv", *rows_of, questions=("animal", "comment"))
    with pytest.raises(FormatError, match="several questions, 'animal', 'comment'\\."):
        rows(path)
    assert rows(path, "comment") == [("1", "31", "so so")]


def test_without_test_questions_any_column_may_be_the_question(tmp_path):
    path = report(
        tmp_path / "f.csv", JUDGMENTS[2] | {"animal_gold": ""}, after=("url", "animal_gold")
    )
    assert rows(path) == [("702", "31", "dog")]
    one = {name: cell for name, cell in JUDGMENTS[2].items() if name != "animal_gold"}
    path = report(tmp_path / "f.csv", one, after=("url",))
    with pytest.raises(FormatError, match="several questions, 'animal', 'url'"):
        rows(path)
    assert rows(path, "animal") == [("702", "31", "dog")]


def test_a_column_beside_the_questions_can_be_named(tmp_path):
    path = report(tmp_path / "f.csv", judgment("1", "31", "cat"))
    assert rows(path, "url") == [("1", "31", "http://x/1")]
    with pytest.raises(FormatError, match=r"field 'animl' does not exist.*did you mean 'animal'"):
        rows(path, "animl")


def test_checkboxes_are_sets(tmp_path):
    cells = ["cat\ndog", "cat", ""]
    table = [judgment(str(place), "31", cell) for place, cell in enumerate(cells)]
    with pytest.warns(QuietcrowdWarning, match="only empty cells for 'animal': 1"):
        found = rows(report(tmp_path / "f.csv", *table), sets=True)
    assert [row[2] for row in found] == [["cat", "dog"], ["cat"], []]
    units = [unit(0, [(31, ["cat", "dog"]), (32, []), (34, None)])]
    found = rows(lines(tmp_path / "j.json", *units), sets=True)
    assert [row[2] for row in found] == [["cat", "dog"], [], None]
    with pytest.raises(FormatError, match="--multi-label"):
        rows(tmp_path / "f.csv")


@pytest.mark.parametrize("gold", ["cat\ndog", ["cat", "dog"]], ids=["table", "units"])
def test_several_accepted_answers_are_no_truth(tmp_path, gold):
    if isinstance(gold, str):
        path = report(tmp_path / "f.csv", judgment("1", "31", "cat", gold))
    else:
        data = {"animal_gold": gold, "_golden": "true"}
        path = lines(tmp_path / "j.json", unit(1, [], data=data), unit(2, []))
    with pytest.raises(
        FormatError, match=r"(row 0|line 1): .* but the test question accepts \['cat', 'dog'\]"
    ):
        qc.read_truths(path)


def test_known_answers_to_other_units_are_told(tmp_path):
    table = [JUDGMENTS[0], judgment("702", "31", "dog", "dog", _golden="false")]
    path = report(tmp_path / "f.csv", *table)
    with pytest.warns(DroppedRowsWarning, match="units that are not test questions: 1$"):
        assert qc.read_truths(path).to_pylist() == [{"task": "701", "label": "cat"}]


def test_an_aggregated_report_has_no_answers(tmp_path):
    path = tmp_path / "a9.csv"
    path.write_text(
        "_unit_id,_golden,_unit_state,_trusted_judgments,_last_judgment_at,animal,"
        "animal:confidence,orig__golden,animal_gold\n"
        "701,TRUE,golden,9,,cat,1.0,TRUE,cat\n"
        "702,FALSE,finalized,3,1/13/2016 10:00,dog,0.6,,\n"
    )
    with pytest.raises(FormatError, match=r"'_worker_id' is missing\. .* Download the full report"):
        qc.read_answers(path, DOMAIN)
    assert qc.read_truths(path).to_pylist() == [{"task": "701", "label": "cat"}]


def test_the_last_of_repeated_answers_is_the_latest(tmp_path):
    times = ("1/14/2016 10:00:00", "1/13/2016 22:00:00")
    table = [
        judgment("1", "31", answer, _created_at=time)
        for answer, time in zip(("cat", "dog"), times, strict=True)
    ]
    answers = qc.read_answers(report(tmp_path / "f.csv", *table), DOMAIN, duplicates="last")
    assert answers.to_frame()["label"].tolist() == ["cat"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, "'id' must be a text or a whole number"),
        ({"results": []}, "line 1: 'results' must be an object"),
        ({"results": {"judgments": {}}}, "line 1: 'judgments' must be a list of objects"),
        ({"results": {"judgments": [3]}}, "line 1: 'judgments' must be a list of objects"),
        (
            {"results": {"judgments": [{"worker_id": None, "data": {"animal": "cat"}}]}},
            "line 1, judgment 0: 'worker_id' must be a text or a whole number",
        ),
        (
            {"results": {"judgments": [{"worker_id": 1, "data": "cat"}]}},
            "line 1, judgment 0: 'data' must be an object",
        ),
        (
            {"results": {"judgments": [{"worker_id": 1, "data": {"animal": {"x": 1}}}]}},
            "line 1, judgment 0, field 'animal': an answer must be a label",
        ),
    ],
)
def test_damaged_units_name_the_place(tmp_path, change, message):
    path = lines(tmp_path / "j.json", {**unit(1, [(31, "cat")]), **change}, unit(2, []))
    with pytest.raises(FormatError, match=message):
        qc.read_answers(path, DOMAIN, file_format="appen")


def test_columns_that_are_needed(tmp_path):
    (tmp_path / "f.csv").write_text("_worker_id,animal,animal_gold\n1,cat,\n")
    for read in (lambda **options: qc.read_answers(domain=DOMAIN, **options), qc.read_truths):
        with pytest.raises(FormatError, match="column '_unit_id' is missing"):
            read(path=tmp_path / "f.csv", file_format="appen")
