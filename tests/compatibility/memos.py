"""Memos: keys that were drawn once, and the reports that follow from them."""

import shutil
from pathlib import Path
from typing import Any

from tests.compatibility.crowds import MECHANISMS
from tests.compatibility.files import read_json, write_json
from tests.compatibility.spelling import plain

import quietcrowd as qc
from quietcrowd.mechanisms import Memo

TASKS = [f"t{place}" for place in range(6)]
KINDS = tuple(name for name in MECHANISMS if name.startswith(("one-", "two-", "laplace")))


def _scope(name: str) -> dict[str, Any]:
    return {
        "mechanism": MECHANISMS[name],
        "tasks": TASKS,
        "campaign": "birds",
        "worker": 7 if name.endswith("null") else "ann",
    }


def _given(name: str) -> list[dict[str, Any]]:
    """Return two rows of answers; of the second one every answer is the first that there is."""
    domain = MECHANISMS[name].domain
    some = [1.5, 9.0, 0.25] if isinstance(domain, qc.Interval) else list(domain.labels)
    return [
        {task: some[place % len(some)] for place, task in enumerate(TASKS) if place != 2},
        dict.fromkeys(TASKS, some[0]),
    ]


def write_memos(folder: Path) -> None:
    """Draw the key of a memo for each mechanism that can have one, and keep what follows."""
    folder.mkdir()
    for name in KINDS:
        Memo.open(folder / f"{name}.memo", **_scope(name))
    write_json(folder / "reports.json", memo_reports(folder))


def memo_reports(folder: Path) -> dict[str, Any]:
    """Return the reports that the memos in a folder give; they are for their owner alone."""
    found = {}
    for name in KINDS:
        memo = Memo.open(folder / f"{name}.memo", **_scope(name), create=False)
        tables = [memo.report(given).to_frame("pyarrow") for given in _given(name)]
        found[name] = [plain(table.drop_columns(["mechanism"]).to_pydict()) for table in tables]
    return found


def private_copy(folder: Path, place: Path) -> Path:
    """Copy a folder to where its owner alone may read it, as devices ask for."""
    shutil.copytree(folder, place)
    for path in (place, *place.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return place


def kept_reports(folder: Path) -> dict[str, Any]:
    """Return the reports that were written beside the memos."""
    return read_json(folder / "reports.json")
