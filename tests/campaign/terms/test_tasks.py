import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd import Categorical, Interval, Ordinal
from quietcrowd.campaign.terms.tasks import READERS, TaskRow, encode_known_truths
from quietcrowd.exceptions import FormatError

CSV, LINES = READERS["text/csv"], READERS["application/x-ndjson"]
TSV, JSON = READERS["text/tab-separated-values"], READERS["application/json"]


def test_columns_but_task_and_gold_are_data():
    rows = list(CSV('task,question,gold\r\nt1,"Is it, a ""bird""?",yes\r\nt2,é,\r\n'.encode()))
    assert [row.name for row in rows] == ["t1", "t2"]
    assert [row.known_truth for row in rows] == ["yes", None]
    assert json.loads(rows[0].data) == {"question": 'Is it, a "bird"?'}


def test_a_byte_order_mark_is_no_part_of_a_name():
    [row] = CSV("\ufefftask,a\nt1,2\n".encode())
    assert row.name == "t1"


def test_tabs_between_columns():
    [row] = TSV(b"external_id\tq\tid\nt1\ta, b\t7\n")
    assert (row.name, json.loads(row.data)) == ("t1", {"q": "a, b", "id": "7"})


@pytest.mark.parametrize("reader", [CSV, TSV])
@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_the_header_shows_what_separates_columns(reader, between):
    table = [["task", "question", "gold"], ["b1", "Is it a robin?", "yes"]]
    [row] = reader("".join(f"{between.join(cells)}\r\n" for cells in table).encode())
    assert (row.name, row.data, row.known_truth) == ("b1", '{"question":"Is it a robin?"}', "yes")


def test_a_name_of_ours_beside_another_may_be_spelled_otherwise():
    [row] = CSV(b"task,ID,q\nt1,7,x\n")
    assert (row.name, json.loads(row.data)) == ("t1", {"ID": "7", "q": "x"})


@pytest.mark.parametrize("name", ["task", "external_id", "id"])
def test_what_names_a_task(name):
    for rows in (
        CSV(f"q,{name},gold\nx,7,yes\n".encode()),
        LINES(json.dumps({name: 7, "q": "x", "gold": "yes"}).encode()),
        LINES(json.dumps({name: "7", "data": {"q": "x"}, "gold": "yes"}).encode()),
        JSON(json.dumps([{name: 7, "data": {"q": "x"}, "gold": "yes"}]).encode()),
        JSON(json.dumps({name: 7, "q": "x", "gold": "yes"}).encode()),
    ):
        [row] = rows
        assert (row.name, row.data, row.known_truth) == ("7", '{"q":"x"}', "yes")


def test_of_label_studio_tasks_are_taken_and_annotations_are_not():
    tasks = [
        {
            "id": place,
            "data": {"text": f"t{place}"},
            "annotations": [{"id": 9, "completed_by": 3, "result": [{"value": "secret"}]}],
            "predictions": [],
            "project": 1,
            "meta": {},
            "created_at": "2020",
        }
        for place in (4, 5)
    ]
    rows = list(JSON(json.dumps(tasks).encode()))
    assert [(row.name, row.data) for row in rows] == [
        ("4", '{"text":"t4"}'),
        ("5", '{"text":"t5"}'),
    ]


def test_of_toloka_workers_see_the_input_and_nothing_else():
    header = "INPUT:text\tINPUT:url\tGOLDEN:result\tHINT:text\tASSIGNMENT:link\tOUTPUT:result\n"
    rows = list(TSV(f"{header}a bird\tu1\tyes\t\t\t\na plane\tu2\t\t\t\t\n".encode()))
    assert [(row.name, row.data, row.known_truth) for row in rows] == [
        (None, '{"text":"a bird","url":"u1"}', "yes"),
        (None, '{"text":"a plane","url":"u2"}', None),
    ]
    [row] = TSV(b"INPUT:text\tASSIGNMENT:task_id\na bird\t0001-7\n")
    assert (row.name, row.data) == ("0001-7", '{"text":"a bird"}')
    [row] = JSON(b'{"id": 4, "data": {"INPUT:text": "a bird", "GOLDEN:result": "yes"}}')
    assert (row.name, row.data, row.known_truth) == ("4", '{"text":"a bird"}', "yes")


@pytest.mark.parametrize(
    ("reader", "content"),
    [
        (CSV, b"zoo,name,answer\n1,2,3\n"),
        (LINES, b'{"zoo": "1", "name": "2", "answer": "3"}\n'),
        (JSON, b'[{"data": {"zoo": "1", "name": "2", "answer": "3"}}]'),
        (TSV, b"INPUT:zoo\tGOLDEN:x\tINPUT:name\tINPUT:answer\n1\t\t2\t3\n"),
    ],
)
def test_columns_stay_in_the_order_of_the_file(reader, content):
    [row] = reader(content)
    assert row.data == '{"zoo":"1","name":"2","answer":"3"}'


def test_of_mturk_workers_see_the_input_and_nothing_else():
    [row] = CSV(b"HITId,WorkerId,Input.text,Answer.label\n3X,,a bird,\n")
    assert (row.name, row.data, row.known_truth) == ("3X", '{"text":"a bird"}', None)


@pytest.mark.parametrize(
    ("reader", "content"),
    [
        (TSV, "INPUT:text\tHINT:text\na\tsecret\n"),
        (TSV, "INPUT:text\tOUTPUT:result\na\tsecret\n"),
        (TSV, "INPUT:text\tASSIGNMENT:worker_id\na\tsecret\n"),
        (TSV, "INPUT:text\thint:Text\na\tsecret\n"),
        (TSV, "INPUT:text\tnote\na\tsecret\n"),
        (CSV, "HITId,WorkerId,Input.text,Answer.label\n3X,secret,a,\n"),
        (CSV, "HITId,WorkerId,Input.text,Answer.label\n3X,,a,secret\n"),
        (CSV, "HITId,Title,Input.text\n3X,secret,a\n"),
        (CSV, "Answer.label\nsecret\n"),
        (CSV, "task,worker,label\nt1,secret,no\n"),
        (CSV, "task,performer,answer\nt1,secret,no\n"),
        (CSV, "text,id,sentiment,annotator,annotation_id\na,1,secret,3,7\n"),
        (JSON, '{"id": 1, "text": "a", "annotations": [{"completed_by": "secret"}]}'),
        (LINES, '{"id": 1, "text": "a", "label": ["secret"], "Comments": []}'),
        (LINES, '{"id": 1, "text": "a", "label": [[0, 1, "secret"]]}'),
        (LINES, '{"data": {"text": "a", "annotation_id": 7, "sentiment": "secret"}}'),
    ],
)
def test_hints_and_answers_of_workers_are_no_tasks(reader, content):
    with pytest.raises(FormatError, match=r"row \d: workers would see") as caught:
        list(reader(content.encode()))
    assert "secret" not in str(caught.value)


def test_a_label_that_is_no_answer_is_shown():
    """It may be what is printed on a bottle; doccano leaves an empty list where nobody answered."""
    rows = list(LINES(b'{"q": "x", "label": "red"}\n{"q": "x", "label": []}\n'))
    assert [row.data for row in rows] == ['{"q":"x","label":"red"}', '{"q":"x","label":[]}']


def test_lines_with_data_and_lines_that_are_data():
    rows = list(LINES(b'{"task": 7, "data": {"q": [1, 2.5]}, "gold": 1}\n\n{"q": "x"}\n'))
    assert [(row.name, row.data, row.known_truth) for row in rows] == [
        ("7", '{"q":[1,2.5]}', 1),
        (None, '{"q":"x"}', None),
    ]


@pytest.mark.parametrize(
    ("reader", "content", "told"),
    [
        (CSV, b"\xff", "row 1: the file must be in UTF-8"),
        (CSV, b"a,a\n1,2\n", "row 1: column names"),
        (CSV, b"a,\n1,2\n", "row 1: column names"),
        (CSV, b"", "row 1: column names"),
        (CSV, b'"task;q;gold"\nsecret;2;3\n', "row 1: the whole header"),
        (CSV, b'"task\tq"\nsecret\n', "row 1: the whole header"),
        (CSV, b"Task,q\nsecret,2\n", "row 1: write task"),
        (CSV, b"task,q, gold\nt1,2,secret\n", "row 1: write task"),
        (CSV, b"task,gold,GOLD\nt1,no,secret\n", "row 1: write task"),
        (LINES, b'{"q": 1}\n{"ID": "secret", "q": 2}', "row 2: write task"),
        (JSON, b'[{"id": 1, "Gold": "secret", "q": 2}]', "row 1: write task"),
        (CSV, b"a,b\n1\n", "row 2: the numbers of cells"),
        (CSV, b"a,b\n1,2,3\n", "row 2: the numbers of cells"),
        (CSV, b'a\n"secret\n', "violates the CSV format"),
        (CSV, b"task,a\n,1\n", "row 2: task must"),
        (CSV, b"task,a\n" + b"s" * 201 + b",1\n", "row 2: task must"),
        (CSV, b"a\n" + b"s" * 20_000 + b"\n", "row 2: data exceeds"),
        (TSV, b"INPUT:a\tinput:A\nsecret\t2\n", "row 2: names of columns must differ"),
        (TSV, b"GOLDEN:a\nsecret\n", "row 2: the file must have INPUT:"),
        (TSV, b"INPUT:a\tGOLDEN:a\tGOLDEN:b\n1\tsecret\t2\n", "row 2: the file must have INPUT:"),
        (TSV, b"INPUT:a\tGOLDEN:a\tgold\n1\tsecret\t2\n", "row 2: the file must have INPUT:"),
        (JSON, b"[{secret", "row 1: invalid JSON"),
        (JSON, b"[" * 100_000, "row 1: invalid JSON"),
        (JSON, b'[{"a": 1}, "secret"]', "row 2: the row must be an object"),
        (JSON, b'[{"a": 1}, {"data": 7}]', "row 2: data must be"),
        (JSON, b'{"id": 1, "data": {}, "secret": 1}', "row 1: only data"),
        (LINES, b"{secret", "row 1: invalid JSON"),
        (LINES, b'{"a": 1}\n{"secret": 1, "secret": 2}', "row 2: .* repeated names"),
        (LINES, b"[" * 100_000, "row 1: invalid JSON"),
        (LINES, b"7", "row 1: the row must be an object"),
        (LINES, b'{"data": 7}', "row 1: data must be"),
        (LINES, b'{"data": {}, "secret": 1}', "row 1: only data"),
        (LINES, b'{"task": ["secret"], "a": 1}', "row 1: task must"),
        (LINES, b'{"task": true, "a": 1}', "row 1: task must"),
        (LINES, b'{"gold": ["secret"], "a": 1}', "row 1: gold must"),
        (LINES, b'{"a": NaN}', "row 1: JSON cannot"),
        (LINES, b'{"a": 9007199254740993}', "row 1: JSON cannot"),
        (LINES, b'{"a": "\\ud800"}', "row 1: JSON cannot"),
    ],
)
def test_what_breaks_a_rule_is_named_by_its_row_and_not_shown(reader, content, told):
    with pytest.raises(FormatError, match=told) as caught:
        list(reader(content))
    assert "secret" not in str(caught.value)


@given(st.sampled_from(list(READERS.values())), st.binary(max_size=200))
def test_any_bytes_are_tasks_or_a_refusal(reader, content):
    try:
        for row in reader(content):
            assert isinstance(json.loads(row.data), dict)
    except FormatError:
        pass


def rows_of(truths):
    return [
        TaskRow(row=row, name=None, data="{}", known_truth=truth)
        for row, truth in enumerate(truths, 2)
    ]


@pytest.mark.parametrize(
    ("domain", "truths", "stored"),
    [
        (Categorical(["no", "yes"]), ["yes", None], ['"yes"', None]),
        (Ordinal([1, 2, 3]), ["2", 3, 3.0], ["2", "3", "3"]),
        (Interval(low=0, high=1), ["0.5", 1], ["0.5", "1.0"]),
    ],
)
def test_known_truths_are_stored_as_the_domain_has_them(domain, truths, stored):
    assert encode_known_truths(domain, rows_of(truths)) == stored


@pytest.mark.parametrize(
    ("domain", "truth"),
    [
        (Categorical(["no", "yes"]), "maybe"),
        (Ordinal([1, 2, 3]), 4),
        (Interval(low=0, high=1), "2"),
        (Interval(low=0, high=1), "one"),
        (Interval(low=0, high=1), "nan"),
    ],
)
def test_a_truth_outside_of_the_domain_is_named_by_its_row_and_not_shown(domain, truth):
    with pytest.raises(FormatError, match=r"^row 3: gold must be one") as caught:
        encode_known_truths(domain, rows_of([None, truth]))
    assert str(truth) not in str(caught.value).removeprefix("row 3: gold must be one")
