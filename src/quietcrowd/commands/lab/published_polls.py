"""Records of the reports that polls published, next to each file, as a guard against mistakes.

A record identifies reports by keyed hashes, in any order and after rows were added. It does not
recognize them in a copy of the file elsewhere.
"""

from __future__ import annotations

import json
import secrets
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import read_reports
from quietcrowd.formats.files import replacing
from quietcrowd.private_files import file_lock
from quietcrowd.validation import parse_json

_WHAT = (
    "quietcrowd lab poll published counts of reports in the file beside this record. A report may "
    "enter one published output only, since the difference of two outputs reveals reports. This "
    "record guards against mistakes: copies of the file elsewhere are not recognized. Keep it as "
    "private as the reports. Delete it only if no output was shown to anyone."
)

_BYTES = 12
"""Length of a hash; among 10,000,000 reports, two collide with probability below 1e-14."""


def record_path(path: Path) -> Path:
    """Return the path of the record of a file of reports, resolving links."""
    real = path.resolve()
    return real.with_name(f"{real.name}.published.json")


@contextmanager
def held_records(files: Sequence[Path]) -> Iterator[list[PollRecord]]:
    """Read and lock the records of files of reports within a context."""
    with ExitStack() as held:
        for path in sorted({record_path(file) for file in files}):  # sorted against deadlocks
            held.enter_context(file_lock(path.with_name(f"{path.name}.lock"), wait=True))
        yield [PollRecord.read(file) for file in files]


@frozen(kw_only=True)
class PollRecord:
    """Reports of a file, and the outputs of earlier polls that contain some of them.

    `key` is that of the hashes. `rows` are hashes of the reports that are in the file now, without
    repeated ones. `outputs` maps random ids, shared between files, to the number of reports in the
    output and the hashes of those from this file.
    """

    path: Path
    key: bytes
    rows: frozenset[bytes]
    outputs: dict[str, tuple[int, frozenset[bytes]]]

    @classmethod
    def read(cls, reports: Path) -> PollRecord:
        """Read a file of reports and its record, if there is one."""
        path = record_path(reports)
        key, outputs = _parsed(path) if path.exists() else (secrets.token_bytes(32), {})
        found = read_reports(reports).to_frame("pyarrow").to_pylist()
        rows = frozenset(_hash(key, row) for row in found if not row.get("again"))
        return cls(path=path, key=key, rows=rows, outputs=outputs)

    def write(self) -> None:
        """Write this record, replacing an earlier one."""
        outputs = [
            # sorted, so that the order reveals nothing
            {"id": one, "reports": count, "rows": b64encode(b"".join(sorted(rows))).decode()}
            for one, (count, rows) in self.outputs.items()
        ]
        document = {"what": _WHAT, "key": self.key.hex(), "outputs": outputs}
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _hash(key: bytes, row: dict[str, Any]) -> bytes:
    text = json.dumps([str(row["task"]), str(row["worker"]), str(row["label"])])
    return blake2b(text.encode(), key=key, digest_size=_BYTES).digest()


def _parsed(path: Path) -> tuple[bytes, dict[str, tuple[int, frozenset[bytes]]]]:
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
        outputs = {}
        for one in document["outputs"]:
            joined = b64decode(one["rows"], validate=True)
            rows = (joined[place : place + _BYTES] for place in range(0, len(joined), _BYTES))
            outputs[str(one["id"])] = (int(one["reports"]), frozenset(rows))
        return bytes.fromhex(document["key"]), outputs
    except (KeyError, TypeError, ValueError, RecursionError):
        raise FormatError("commands.record-damaged", path=path) from None


@frozen(kw_only=True)
class Overlap:
    """Overlap of an output with outputs published before.

    `published` of the reports are in earlier outputs and `new` ones in none. `outputs` counts the
    earlier outputs with some of them, and `same` tells whether one has exactly these reports.
    `smallest` is the size of the smallest group whose counts follow from all outputs together. A
    report is in one group, so its loss is at most that of an output of this group.
    """

    published: int
    new: int
    outputs: int
    same: bool
    smallest: int

    @classmethod
    def of(cls, records: Sequence[PollRecord]) -> Overlap:
        """Return the overlap of all reports in these records."""
        totals: dict[str, int] = {}
        shared: Counter[str] = Counter()
        new = 0
        for record in records:
            fresh = record.rows
            for one, (count, rows) in record.outputs.items():
                totals[one] = count
                shared[one] += len(rows & record.rows)
                fresh -= rows
            new += len(fresh)
        shared = +shared  # drops outputs that share no report
        now = sum(len(record.rows) for record in records)
        groups = [new, *shared.values(), *(totals[one] - shared[one] for one in shared)]
        return cls(
            published=now - new,
            new=new,
            outputs=len(shared),
            same=any(shared[one] == totals[one] == now for one in shared),
            smallest=min(size for size in groups if size > 0),
        )


def record_output(records: Sequence[PollRecord]) -> None:
    """Record next to each file that an output with all its reports is published."""
    one, total = secrets.token_hex(16), sum(len(record.rows) for record in records)
    for record in records:
        evolve(record, outputs={**record.outputs, one: (total, record.rows)}).write()
