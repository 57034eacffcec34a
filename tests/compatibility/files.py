"""Files that a version writes: reports, stores, checkpoints, configurations, descriptions."""

import gzip
import hashlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.compatibility import places
from tests.compatibility.crowds import (
    MECHANISMS,
    METHODS,
    OF_CROWD,
    RANGE,
    SEED,
    THREE,
    answers_of,
    crowd_of,
    rows_of,
)
from tests.compatibility.inferring import INTERRUPTED, run_store
from tests.compatibility.stating import RELEASES, ledger, released

import quietcrowd as qc
from quietcrowd.exceptions import QuietcrowdError, QuietcrowdWarning
from quietcrowd.formats import write_table
from quietcrowd.scale import partition_parquet

SUFFIXES = ("csv", "jsonl", "parquet")
PLATFORMS = {
    "crowd-kit": "csv",
    "mturk": "csv",
    "toloka": "tsv",
    "label-studio": "json",
    "label-studio-min": "json",
    "label-studio-csv": "csv",
}
CHECKPOINT_AFTER = 1


def write_json(path: Path, value: Any) -> None:
    """Write a document, each member on a line of its own; packed where the name says so."""
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in value.items()]
    text = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def read_json(path: Path) -> Any:
    """Return what `write_json` wrote."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


def write_files(folder: Path) -> None:
    """Write all that is the same whenever it is written."""
    for name in ("reports", "platforms", "stores", "checkpoints", "releases"):
        (folder / name).mkdir(parents=True)
    write_json(folder / "mechanisms.json", {name: m.to_dict() for name, m in MECHANISMS.items()})
    write_json(folder / "methods.json", {name: m.to_dict() for name, m in METHODS.items()})
    write_json(folder / "domains.json", {name: d.to_dict() for name, d in OF_CROWD.items()})
    write_json(folder / "configurations.json.gz", dict(configurations()))
    (folder / "ledger.json").write_text(ledger().to_json())
    _write_reports(folder)
    _write_platforms(folder / "platforms")
    _write_stores(folder)
    _write_checkpoints(folder)
    for suffix in SUFFIXES:
        write_table(released(RELEASES["uniform"]).claims, folder / "releases" / f"claims.{suffix}")


def simulated(name: str) -> qc.Reports:
    """Return reports of a mechanism, the same ones each time."""
    mechanism = MECHANISMS[name]
    return mechanism.simulate(answers_of(crowd_of(mechanism)), random_state=SEED)


def _write_reports(folder: Path) -> None:
    for name in MECHANISMS:
        for suffix in SUFFIXES:
            qc.write_reports(simulated(name), folder / "reports" / f"{name}.{suffix}")


def _write_platforms(folder: Path) -> None:
    made = MECHANISMS["one-layer-three"].simulate(answers_of("few"), random_state=SEED)
    for kind, suffix in PLATFORMS.items():
        reports, answers = f"reports-{kind}.{suffix}", f"answers-{kind}.{suffix}"
        qc.write_reports(made, folder / reports, file_format=kind)
        qc.write_answers(answers_of("few"), folder / answers, file_format=kind)


def _write_stores(folder: Path) -> None:
    with TemporaryDirectory() as place:
        for kind, crowd, domain in (("labels", "three", THREE), ("numbers", "numbers", RANGE)):
            path = Path(place) / f"{kind}.parquet"
            write_table(rows_of(crowd).drop(columns="truth"), path)
            partition_parquet(path, folder / "stores" / kind, domain=domain, partitions=2)
    for kind in ("one-layer-null", "laplace-released"):
        path = folder / "reports" / f"{kind}.parquet"
        partition_parquet(path, folder / "stores" / kind, partitions=2)


def _write_checkpoints(folder: Path) -> None:
    """Stop runs after a few iterations, and keep where they were."""
    for store, names in INTERRUPTED.items():
        for name in names:
            kept = folder / "checkpoints" / f"{store}-{name}.checkpoint"
            with TemporaryDirectory() as place, warnings.catch_warnings():
                warnings.simplefilter("ignore", QuietcrowdWarning)
                run_store(folder, store, name, Path(place), checkpoint=kept, most=CHECKPOINT_AFTER)


QUESTIONS = ["Is it blue?", "Is it  BLUE", "Is it red?", "3. Is it red?", "Is it old?", "And new?"]
VARIATIONS: dict[str, dict[str, int | None]] = {
    "usual": {"answers": None, "linked": None},
    "few": {"answers": 2, "linked": None},
    "linked": {"answers": None, "linked": 4},
}


def configurations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the configuration of a campaign of every mechanism, or why there is none."""
    tasks = sorted(
        (hashlib.sha256(text.encode()).hexdigest()[:32], f"t{place}", {"question": text})
        for place, text in enumerate(QUESTIONS)
    )
    for name, mechanism in MECHANISMS.items():
        for kind, numbers in VARIATIONS.items():
            try:
                built = places.build_configuration(
                    campaign="5" * 32,
                    title="Birds é",
                    description="What they are.",
                    mechanism=mechanism,
                    tasks=tasks,
                    **numbers,
                )
            except QuietcrowdError as error:
                yield f"{name}/{kind}", {"refused": str(error)}
                continue
            text = built.text.decode()
            assert hashlib.sha256(built.text).digest() == built.hash
            shown = {"text": text} if kind == "usual" else {}
            yield f"{name}/{kind}", {"hash": built.hash.hex(), **shown}
