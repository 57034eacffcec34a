"""Results of a pool as Toloka writes them; the golden file is invented."""

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError
from quietcrowd.formats import read_table

DOMAIN = qc.Categorical(["cat", "dog"])
HEADER = (
    "INPUT:url\tINPUT:page\tOUTPUT:animal\tGOLDEN:animal\tHINT:text\tASSIGNMENT:link\t"
    "ASSIGNMENT:assignment_id\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\t"
    "ASSIGNMENT:started"
)
ROWS = (
    "u1\t1\tcat\tcat\t\tl\ta1\tt1\tw1\tAPPROVED\t2020",
    "u2\t1\tdog\t\t\tl\ta1\tt2\tw1\tAPPROVED\t2020",
    "",  # a blank line stands between assignments
    "u1\t1\tdog\tcat\t\tl\ta2\tt1\tw2\tREJECTED\t2020",
    "u2\t1\t\t\t\tl\ta3\tt2\tw3\tSKIPPED\t2020",
)


def pool(path, *, without=(), rows=ROWS):
    table = [line.split("\t") for line in (HEADER, *rows)]
    kept = [place for place, name in enumerate(table[0]) if name not in without]
    lines = ["\t".join(line[place] for place in kept) if len(line) > 1 else "" for line in table]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def rows_of(answers):
    return answers.to_frame().to_numpy().tolist()


def test_what_was_not_handed_in_or_rejected_is_told(tmp_path):
    path = pool(tmp_path / "p.tsv")
    with pytest.warns(
        DroppedRowsWarning, match=r"p\.tsv: dropped rows: rejected .*: 1; .* submitted: 1$"
    ):
        answers = qc.read_answers(path, DOMAIN)
    assert rows_of(answers) == [["t1", "w1", "cat"], ["t2", "w1", "dog"]]
    with pytest.warns(DroppedRowsWarning, match=r"dropped rows: rows that were not submitted: 1$"):
        answers = qc.read_answers(path, DOMAIN, rejected=True)
    assert rows_of(answers)[1] == ["t1", "w2", "dog"]


def test_without_ids_the_input_is_the_task(tmp_path):
    path = pool(tmp_path / "p.tsv", without=["ASSIGNMENT:task_id"], rows=ROWS[:2])
    assert rows_of(qc.read_answers(path, DOMAIN))[0] == ["u1 | 1", "w1", "cat"]
    path = pool(path, without=["ASSIGNMENT:task_id", "INPUT:page"], rows=ROWS[:2])
    assert rows_of(qc.read_answers(path, DOMAIN))[0] == ["u1", "w1", "cat"]


def test_two_inputs_never_have_one_name(tmp_path):
    cells = (("a | b", "c"), ("a", "b | c"))
    lines = [f"{url}\t{page}\tcat\tw" for url, page in cells]
    (tmp_path / "p.tsv").write_text("\n".join([INPUTS, *lines]))
    message = r"\('a \| b', 'c'\) and \('a', 'b \| c'\) would both be task 'a \| b \| c'"
    with pytest.raises(FormatError, match=message):
        qc.read_answers(tmp_path / "p.tsv", DOMAIN)


INPUTS = "INPUT:url\tINPUT:page\tOUTPUT:animal\tASSIGNMENT:worker_id"


def test_quoted_empty_cells_are_missing(tmp_path):
    (tmp_path / "p.tsv").write_text(f'{INPUTS}\n"a"\t""\t""\t"w"\n"a"\t\t"cat"\t"v"\n')
    assert read_table(tmp_path / "p.tsv", COLUMNS).to_pylist() == [
        {"task": "a |", "worker": "w", "label": None},
        {"task": "a |", "worker": "v", "label": "cat"},
    ]
    (tmp_path / "p.tsv").write_text('INPUT:url\tGOLDEN:animal\n"a"\t""\n"b"\t"cat"\n')
    assert qc.read_truths(tmp_path / "p.tsv").to_pylist() == [{"task": "b", "label": "cat"}]


COLUMNS = ("task", "worker", "label")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (['["cat","dog"]', '["cat"]', "[]", ""], [["cat", "dog"], ["cat"], [], None]),
        (['{"cat":true,"dog":true}', '{"cat":false,"dog":false}'], [["cat", "dog"], []]),
    ],
    ids=["arrays", "objects"],
)
def test_arrays_and_objects_are_sets(tmp_path, cells, expected):
    rows = [
        "\t".join(["u", "1", '"{}"'.format(cell.replace('"', '""')), f"w{place}"])
        for place, cell in enumerate(cells)
    ]
    path = tmp_path / "p.tsv"
    path.write_text("\n".join([INPUTS, *rows]))
    assert read_table(path, COLUMNS, sets=True)["label"].to_pylist() == expected
    with pytest.raises(FormatError, match="--multi-label"):
        read_table(path, COLUMNS)


def test_a_json_answer_that_is_no_set(tmp_path):
    (tmp_path / "p.tsv").write_text(f'{INPUTS}\nu\t1\t"[{{""x"":1}}]"\tw\nu\t2\t[sic]\tw\n')
    with pytest.raises(FormatError, match="row 0, field 'animal': an answer must be a label"):
        read_table(tmp_path / "p.tsv", COLUMNS)


def test_the_last_of_repeated_answers_is_the_latest(tmp_path):
    rows = [
        f"u\t1\t{label}\tw\t2020-05-0{day}T10:00:00.123" for label, day in (("cat", 2), ("dog", 1))
    ]
    (tmp_path / "p.tsv").write_text("\n".join([f"{INPUTS}\tASSIGNMENT:submitted", *rows]))
    answers = qc.read_answers(tmp_path / "p.tsv", DOMAIN, duplicates="last")
    assert rows_of(answers) == [["u | 1", "w", "cat"]]


def test_control_tasks_are_known_truths(tmp_path):
    path = pool(tmp_path / "p.tsv")
    assert qc.read_truths(path).to_pylist() == [{"task": "t1", "label": "cat"}]


@pytest.mark.parametrize(
    ("without", "told"),
    [
        (["ASSIGNMENT:worker_id"], "these are tasks, not results"),
        (["OUTPUT:animal"], "no column OUTPUT:…"),
        (["INPUT:url", "INPUT:page", "ASSIGNMENT:task_id"], "identifies tasks"),
    ],
)
def test_what_is_missing_is_named(tmp_path, without, told):
    with pytest.raises(FormatError, match=told):
        qc.read_answers(pool(tmp_path / "p.tsv", without=without), DOMAIN)


def test_the_header_is_whole(tmp_path):
    answers = qc.read_answers(pool(tmp_path / "p.tsv", rows=ROWS[:2]), DOMAIN)
    qc.write_answers(answers, tmp_path / "out.tsv", file_format="toloka")
    header, first, _ = (tmp_path / "out.tsv").read_text().splitlines()
    names = header.replace('"', "").split("\t")
    assert names[:4] == ["INPUT:task", "OUTPUT:label", "GOLDEN:label", "HINT:text"]
    assert names[-8:] == [
        *("ASSIGNMENT:status", "ASSIGNMENT:started", "ASSIGNMENT:submitted"),
        *("ASSIGNMENT:accepted", "ASSIGNMENT:rejected", "ASSIGNMENT:skipped"),
        *("ASSIGNMENT:expired", "ASSIGNMENT:reward"),
    ]
    held = {
        name: cell for name, cell in zip(names, first.replace('"', "").split("\t"), strict=True)
        if cell
    }  # fmt: skip
    assert held == {
        "INPUT:task": "t1",
        "OUTPUT:label": "cat",
        "ASSIGNMENT:task_id": "t1",
        "ASSIGNMENT:worker_id": "w1",
    }
