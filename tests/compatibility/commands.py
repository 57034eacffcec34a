"""What commands say, and what the interface of a server and the tables of its database are."""

import os
import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from tests.campaign.waiting import LONG
from tests.compatibility.crowds import rows_of
from tests.compatibility.files import write_json
from tests.compatibility.serving import served
from tests.programs import QUIETCROWD, finished

from quietcrowd.formats import write_table

COMMANDS = [
    *("", "demo", "infer", "randomize", "plan", "serve", "convert", "reproduce"),
    *("worker", "worker answer", "admin", "admin create-key", "admin backup", "campaign"),
    *(f"campaign {one}" for one in ("create", "list", "open", "close", "delete", "export")),
    *(
        "campaign invites create",
        "lab",
        "lab audit",
        "lab evaluate",
        "lab synthesize",
        "lab budget",
    ),
]

RUNS = [
    "infer reports/one-layer-three.csv --json",
    "infer reports/one-layer-null.jsonl --method dawid-skene",
    "infer reports/laplace-released.parquet --json",
    "infer reports/laplace.csv --method moon:variant=variance --json",
    "infer reports/factors.parquet --json",
    "infer stores/labels --method glad -o truths.parquet",
    "infer answers.csv --non-private --labels no,perhaps,yes --method crh:loss=zero-one",
    "lab budget reports/one-layer.csv reports/two-layer.parquet --delta 1e-6 --total-epsilon 3"
    " --json",
    "lab budget reports/laplace-released.jsonl",
    "lab audit two-layer --epsilon 1 --answers-per-worker 5 --samples 500 --simulate 1",
    "lab audit laplace:participation=released --between 0,10 --answers-per-worker 3 --samples 300"
    " --simulate 1",
    "randomize answers.csv --labels no,perhaps,yes -e 1 --simulate 3 -o made.csv",
    "randomize answers.csv --labels no,perhaps,yes -m two-layer --simulate 3 -o made.jsonl",
    "convert reports/one-layer-three.parquet made-store --to store --partitions 2",
    "convert reports/one-layer-three.csv made.tsv --to toloka",
    "convert platforms/answers-label-studio.json",
    "lab synthesize numbers.csv --between 0,10 --bandwidth 0.5 --claims 5 --k 3 --gamma 2"
    " --epsilon0 0.5 --simulate 2 -o synthetic.csv",
    "lab synthesize numbers.csv --between 0,10 --bandwidth 0.5 --claims 5 --epsilon 60 --plan"
    " --json",
    "infer reports/one-layer.csv --method nothing",
    "infer platforms/reports-mturk.csv --method mean",
    "randomize answers.csv --labels no,yes -e 1 -o never.csv",
    "nothing",
]

NAMES = (
    "quietcrowd",
    "quietcrowd.campaign",
    "quietcrowd.datasets",
    "quietcrowd.commands.demo",
    "quietcrowd.evaluation",
    "quietcrowd.formats",
    "quietcrowd.inference",
    "quietcrowd.mechanisms",
    "quietcrowd.privacy",
    "quietcrowd.scale",
    "quietcrowd.synthesis",
    "quietcrowd.testing",
)
"""Packages whose public names stay."""


def write_commands(files: Path, folder: Path) -> None:
    """Write what commands print and leave in a folder with the files, which are copied."""
    folder.mkdir()
    helped = [one.split() for one in COMMANDS]
    said = {" ".join([*words, "--help"]): _run([*words, "--help"], folder) for words in helped}
    shutil.copytree(files, folder / "made")
    for crowd, name in (("three", "answers"), ("numbers", "numbers")):
        write_table(rows_of(crowd).drop(columns="truth"), folder / "made" / f"{name}.csv")
    for line in RUNS:
        said[line] = _run(line.split(), folder / "made")
    for path in files.rglob("*"):
        if path.is_file():
            (folder / "made" / path.relative_to(files)).unlink()
    write_json(folder / "said.json", said)
    write_json(folder / "names.json", {name: _names(name) for name in NAMES})
    _write_interface(folder)


def _run(words: list[str], place: Path) -> list[object]:
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    return [*finished(*QUIETCROWD, *words, cwd=place, env=environment)]


def _names(package: str) -> list[str]:
    module = __import__(package, fromlist=["__all__"])
    for name in module.__all__:
        assert getattr(module, name) is not None
    return sorted(module.__all__)


def _write_interface(folder: Path) -> None:
    with TemporaryDirectory() as place:
        database = Path(place) / "new.db"
        with served(database, "--no-infer") as address:
            document = httpx.get(
                f"{address}/api/v1/openapi.json", verify=False, timeout=LONG
            ).json()
        with sqlite3.connect(database) as connection:
            tables = dict(connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name"))
        connection.close()
    write_json(folder / "interface.json", document)
    write_json(folder / "tables.json", tables)
