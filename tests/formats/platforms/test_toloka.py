"""Results of a pool as Toloka writes them; the golden file is invented."""

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError

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
    assert rows_of(qc.read_answers(path, DOMAIN))[0] == ['["u1", "1"]', "w1", "cat"]
    path = pool(path, without=["ASSIGNMENT:task_id", "INPUT:page"], rows=ROWS[:2])
    assert rows_of(qc.read_answers(path, DOMAIN))[0] == ["u1", "w1", "cat"]


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
