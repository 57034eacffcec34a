"""How a file of tasks is cut, and summed up; that servers take the parts is tried with commands."""

from pathlib import Path

from quietcrowd.campaign.terms.tasks import READERS
from quietcrowd.commands.campaign.tasks import TaskFile, summarize_tasks


def parts(kind, content):
    return list(TaskFile(path=Path("tasks"), media_type=kind, content=content).parts())


def test_files_are_cut_between_rows(monkeypatch):
    monkeypatch.setattr("quietcrowd.commands.campaign.tasks.PART", 60)
    content = ("a,b\n" + '"x\ny",1\n' * 40).encode()
    cut = parts("text/csv", content)
    assert len(cut) > 3
    assert all(part.startswith(b"a,b\n") and part.count(b'"') % 2 == 0 for part in cut)
    assert b"".join(part.removeprefix(b"a,b\n") for part in cut) == content.removeprefix(b"a,b\n")
    lines = b'{"a": 1}\n' * 40
    assert len(parts("application/x-ndjson", lines)) > 3
    assert b"".join(parts("application/x-ndjson", lines)) == lines


def test_names_of_some_tasks_and_words_that_move_a_cursor():
    lines = b'{"task": "a\\u001b[2J", "q": 1, "gold": 0}\n{"r\\n": 2}\n'
    assert summarize_tasks(list(READERS["application/x-ndjson"](lines))) == (
        "2 tasks, 1 of them named by task, the others numbered: a\ufffd[2J; "
        "1 with known truth; workers see: q, r"
    )


def test_tasks_that_show_nothing():
    [row] = READERS["text/csv"](b"task\nt1\n")
    assert summarize_tasks([row]).endswith("workers see: names alone")
