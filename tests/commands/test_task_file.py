"""How a file of tasks is cut; that servers take the parts is tried with the commands."""

from pathlib import Path

from quietcrowd.commands.task_file import TaskFile


def parts(kind, content):
    return list(TaskFile(path=Path("tasks"), media_type=kind, content=content).parts())


def test_files_are_cut_between_rows(monkeypatch):
    monkeypatch.setattr("quietcrowd.commands.task_file.PART", 60)
    content = ("a,b\n" + '"x\ny",1\n' * 40).encode()
    cut = parts("text/csv", content)
    assert len(cut) > 3
    assert all(part.startswith(b"a,b\n") and part.count(b'"') % 2 == 0 for part in cut)
    assert b"".join(part.removeprefix(b"a,b\n") for part in cut) == content.removeprefix(b"a,b\n")
    lines = b'{"a": 1}\n' * 40
    assert len(parts("application/x-ndjson", lines)) > 3
    assert b"".join(parts("application/x-ndjson", lines)) == lines
