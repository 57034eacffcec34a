"""Files that an earlier version wrote are read as it read them."""

import shutil
import warnings
from pathlib import Path

import pandas as pd
import pytest
from tests.compatibility.crowds import MECHANISMS, METHODS, OF_CROWD, answers_of
from tests.compatibility.files import (
    CHECKPOINT_AFTER,
    PLATFORMS,
    SUFFIXES,
    configurations,
    read_json,
    simulated,
)
from tests.compatibility.inferring import INTERRUPTED, is_exact, run_store
from tests.compatibility.spelling import difference, plain
from tests.compatibility.stating import RELEASES, ledger, released
from tests.compatibility.write import WRITTEN

import quietcrowd as qc
from quietcrowd.domains import Domain
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.formats import read_table
from quietcrowd.inference import method_from_dict
from quietcrowd.mechanisms import Mechanism
from quietcrowd.scale import Store

ESTIMATES = read_json(WRITTEN / "estimates.json.gz")
STATED = read_json(WRITTEN / "statements.json.gz")


def test_mechanisms_methods_and_domains_are_described_as_before():
    for name, described in read_json(WRITTEN / "mechanisms.json").items():
        assert Mechanism.from_dict(described) == MECHANISMS[name]
        assert MECHANISMS[name].to_dict() == described
    for name, described in read_json(WRITTEN / "methods.json").items():
        assert method_from_dict(described) == METHODS[name]
        assert METHODS[name].to_dict() == described
    for name, described in read_json(WRITTEN / "domains.json").items():
        assert Domain.from_dict(described) == OF_CROWD[name]
        assert OF_CROWD[name].to_dict() == described


def test_configurations_have_the_same_hashes():
    then, now = read_json(WRITTEN / "configurations.json.gz"), dict(configurations())
    assert difference(then, now, exact=True) is None
    assert sum("hash" in one for one in then.values()) == 57


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_are_read_alike_from_every_format(name):
    frames = []
    for suffix in SUFFIXES:
        reports = qc.read_reports(WRITTEN / "reports" / f"{name}.{suffix}")
        assert reports.mechanism == MECHANISMS[name]
        assert reports.simulated
        frames.append(reports.to_frame())
        stored = STATED[f"read/{name}"]["value"]
        assert stored["values"] == pytest.approx(plain(reports.table.values), rel=1e-12)
        assert stored["tasks"] == plain(reports.table.tasks)
        assert stored["workers"] == plain(reports.table.workers)
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frames[0], frame, check_exact=True, check_dtype=False)


@pytest.mark.parametrize("name", ["one-layer-three", "laplace-released", "factors"])
def test_reports_are_written_to_the_same_text_and_name_their_mechanism(name, tmp_path):
    """Of text files: what a Parquet file's bytes are is up to another library."""
    reports = qc.read_reports(WRITTEN / "reports" / f"{name}.parquet")
    cell = f"{reports.mechanism.short_hash}-simulated"
    for suffix in ("csv", "jsonl"):
        path = tmp_path / f"{name}.{suffix}"
        qc.write_reports(reports, path)
        text = path.read_text()
        assert text.count(cell) == len(reports.to_frame())
        for added in (',"mechanism"', f',"{cell}"', f', "mechanism": "{cell}"'):
            text = text.replace(added, "")
        assert text == (WRITTEN / "reports" / path.name).read_text(), path.name


def test_a_simulation_draws_the_same_reports():
    for name in ("one-layer-null", "two-layer", "laplace"):
        kept = qc.read_reports(WRITTEN / "reports" / f"{name}.parquet")
        pd.testing.assert_frame_equal(kept.to_frame(), simulated(name).to_frame())


@pytest.mark.parametrize("kind", PLATFORMS)
def test_files_of_platforms_are_read(kind):
    suffix = PLATFORMS[kind]
    folder = WRITTEN / "platforms"
    domain = OF_CROWD["few"]
    answers = qc.read_answers(folder / f"answers-{kind}.{suffix}", domain, file_format=kind)
    own = ["worker"] if kind.startswith("label-studio") else []  # it numbers them
    pd.testing.assert_frame_equal(
        answers.canonical.to_frame().drop(columns=own),
        answers_of("few").canonical.to_frame().drop(columns=own),
    )
    assert len(answers.workers) == len(answers_of("few").workers)
    reports = qc.read_reports(folder / f"reports-{kind}.{suffix}", file_format=kind)
    assert reports.mechanism == MECHANISMS["one-layer-three"]
    first = qc.read_reports(folder / "reports-crowd-kit.csv", file_format="crowd-kit")
    pd.testing.assert_frame_equal(
        reports.to_frame().drop(columns=own), first.to_frame().drop(columns=own)
    )


def test_synthetic_claims_are_read():
    found = released(RELEASES["uniform"]).claims
    for suffix in SUFFIXES:
        path = WRITTEN / "releases" / f"claims.{suffix}"
        table = read_table(path, ("task", "claim")).to_pandas().astype({"claim": float})
        pd.testing.assert_frame_equal(table, found, check_dtype=False, rtol=1e-12)


def test_the_ledger_is_the_same_text():
    text = (WRITTEN / "ledger.json").read_text()
    assert qc.PrivacyLedger.from_json(text) == ledger()
    assert ledger().to_json() == text


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", INTERRUPTED)
def test_a_run_goes_on_from_a_checkpoint(name, tmp_path):
    """It ends as one that never stopped; the store knows that the checkpoint is of itself."""
    shutil.copytree(WRITTEN / "stores" / name, tmp_path / "stores" / name)
    assert Store.open(tmp_path / "stores" / name).fingerprint
    for method in INTERRUPTED[name]:
        kept = Path(shutil.copy(WRITTEN / "checkpoints" / f"{name}-{method}.checkpoint", tmp_path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QuietcrowdWarning)
            found = run_store(tmp_path, name, method, tmp_path, checkpoint=kept)
        case = f"stores/{name}/{method}"
        then = ESTIMATES[case]["value"]
        assert found["iterations"] > CHECKPOINT_AFTER
        assert difference(then, found, exact=is_exact(case)) is None
