"""Counts of tables, complete or not."""

import pyarrow as pa
import pytest

from quietcrowd.commands.looking.contents import Contents, as_lists

NAMES = ("task", "worker", "label")


def contents(*rows):
    return Contents.of(pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))))


def test_counts():
    found = contents(
        ("p", "u", "cat"), ("p", "u", "dog"), ("p", "v", "NA"), ("q", None, "cat"), ("q", "v", "")
    )
    assert (found.tasks, found.workers, found.answers) == (2, 2, 3)
    assert (found.blanks, found.repeated) == (2, 1)
    assert found.labels == {"cat": 2, "dog": 1}
    assert found.task_labels == 3
    assert not found.sets
    assert found.numbers == []


def test_numbers():
    found = contents(("p", 1, 3.0), ("p", 2, None), ("q", 1, 0.5), ("q", 1, 3.0))
    assert found.labels == {"3": 2, "0.5": 1}
    assert found.numbers == [0.5, 3.0]
    assert found.repeated == 1
    assert contents(("p", "u", "7"), ("q", "u", "-1")).numbers == [-1.0, 7.0]


@pytest.mark.parametrize("text", [False, True])
def test_sets(text):
    sets = [["cat", "dog"], [], ["dog"], None]
    cells = ['["cat", "dog"]', "[]", "['dog']", ""] if text else sets
    found = Contents.of(pa.table({"task": [*"pqrs"], "worker": ["u"] * 4, "label": cells}))
    assert (found.answers, found.blanks) == (3, 1)
    assert found.sets
    assert found.labels == {"dog": 2, "cat": 1}


@pytest.mark.parametrize("cell", ["[0, 5, 'PER']", '{"x": 1}', "[[1], [2]]"])
def test_other_structures_are_no_sets(cell):
    assert as_lists(pa.chunked_array([["cat", cell]])) is None
    found = contents(("p", "u", cell))
    assert (found.sets, found.labels) == (False, {cell: 1})


@pytest.mark.parametrize("labels", [[{"x": 1}], [b"\xff"], [[{"x": 1}]]])
def test_objects_are_not_counted(labels):
    found = Contents.of(pa.table({"task": ["p"], "worker": ["u"], "label": labels}))
    assert (found.answers, found.labels) == (1, {})


def test_truths_have_no_workers():
    found = Contents.of(pa.table({"task": ["p", "p"], "label": ["cat", "cat"]}))
    assert (found.tasks, found.workers, found.answers, found.repeated) == (1, 0, 2, 0)


def test_an_empty_table():
    found = Contents.of(pa.table({name: pa.array([], pa.string()) for name in NAMES}))
    assert (found.tasks, found.answers, found.labels) == (0, 0, {})
