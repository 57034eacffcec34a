"""The mechanism and the method of CONTRIBUTING.md go everywhere, and nothing else knows of them."""

import io
import json
import os
import re
import shutil
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import quietcrowd as qc
from quietcrowd.auditing import audit
from quietcrowd.campaign import Client
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.commands.app import app
from quietcrowd.exceptions import QuietcrowdWarning, SimulatedNoiseWarning
from quietcrowd.inference import METHODS, ignores_noise, method_from_dict, registry
from quietcrowd.mechanisms import Mechanism, mechanism
from quietcrowd.scale import Store, infer_store, partition_parquet, randomize_store
from quietcrowd.testing import check_mechanism, check_method

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
PRINTED = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
NAMES = ("mechanisms/nearby_level.py", "inference/veterans_vote.py")
STARS = qc.Ordinal(range(1, 6))


@pytest.fixture(scope="module")
def page():
    """Return what the page defines; afterwards nobody knows it any more."""
    known = (mechanism._REGISTRY, registry._BY_NAME)
    before = [dict(names) for names in known]
    namespace = {"__name__": "page"}
    for code in PRINTED:
        exec(compile(code, PAGE.name, "exec"), namespace)
    yield namespace
    for names, earlier in zip(known, before, strict=True):
        names.clear()
        names.update(earlier)


@pytest.fixture
def printed(tmp_path):
    """Return the files that the page prints."""
    paths = [tmp_path / Path(name).name for name in NAMES]
    for path, code in zip(paths, PRINTED, strict=True):
        path.write_text(code)
    return paths


@pytest.mark.slow
def test_they_pass_the_checks_as_they_are_printed(program, printed):
    ruff = Path(sys.executable).with_name("ruff")
    for name, path in zip(NAMES, printed, strict=True):
        place = ("--no-cache", "--stdin-filename", f"src/quietcrowd/{name}", "-")
        for words in (["check"], ["format", "--check"]):
            with path.open() as text:
                checked = program(ruff, *words, *place, stdin=text, cwd=ROOT).finished()
            assert checked.status == 0, checked
    mypy = (sys.executable, "-m", "mypy")
    status, output, errors = program(*mypy, *printed, cwd=ROOT).finished()
    assert status == 0, output + errors


COMPLETE = "(every_mechanism or exactly_what_is_public or one_distribution) and not in_the_table"
"""Tests that know all mechanisms of the package; a table of the docs is step 2."""


@pytest.mark.nightly
def test_the_mechanism_is_complete_once_it_is_listed(program, tmp_path):
    """The steps of the page, in a copy of the repository."""
    ignored = shutil.ignore_patterns("__pycache__", "written")
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    package = tmp_path / "src" / "quietcrowd"
    (package / NAMES[0]).write_text(PRINTED[0])
    listed = package / "mechanisms" / "__init__.py"
    imported = "\nfrom quietcrowd.mechanisms.nearby_level import NearbyLevel\n"
    text = listed.read_text().replace("\nfrom ", f"{imported}from ", 1)
    listed.write_text(text.replace("__all__ = [\n", '__all__ = [\n    "NearbyLevel",\n'))
    folders = ("auditing", "mechanisms", "planning", "scale", "test_package.py", "test_testing.py")
    words = ("-m", "pytest", "-v", "-k", COMPLETE, *(f"tests/{one}" for one in folders))
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    status, output, _ = program(sys.executable, *words, cwd=tmp_path, env=environment).finished()
    assert status == 0, output
    assert "test_all_is_exactly_what_is_public PASSED" in output


@pytest.fixture
def nearby(page):
    return page["NearbyLevel"](domain=STARS, epsilon=2.0)


@pytest.fixture
def veterans(page):
    return page["VeteransVote"]()


@pytest.fixture
def answers():
    crowd = qc.make_crowd(tasks=60, workers=30, labels=range(1, 6), random_state=4)
    return qc.Answers.from_frame(crowd.answers.to_frame(), STARS)


@pytest.mark.slow
def test_they_pass_the_batteries(nearby, veterans):
    assert Mechanism.registry()[nearby.name] is type(nearby)
    assert METHODS[veterans.name] is type(veterans)
    check_mechanism(nearby)
    check_mechanism(type(nearby)(domain=STARS, epsilon=1.0, missing="category"))
    check_method(veterans)


@pytest.mark.slow
def test_randomise_fit_files_ledger_and_audit(nearby, veterans, answers, tmp_path):
    reports = nearby.randomize(answers)
    qc.write_reports(reports, tmp_path / "reports.parquet")
    back = qc.read_reports(tmp_path / "reports.parquet")
    assert back.mechanism == nearby
    with ignores_noise():
        estimate, again = veterans.fit(reports), method_from_dict(veterans.to_dict()).fit(back)
    assert estimate.truths.equals(again.truths)
    ledger = qc.PrivacyLedger.of_reports(reports)
    given = dict(
        zip(reports.table.workers.to_pylist(), reports.table.answers_per_worker, strict=True)
    )
    spent = ledger.spent(3).total_epsilon
    assert spent == pytest.approx(given[3] * nearby.channel.epsilon)
    found = audit(nearby, 3, draws=20_000, random_state=1)
    assert found.holds
    assert found.exact_epsilon == nearby.channel.epsilon < 2.0


def test_a_store_and_the_command_line(nearby, veterans, answers, tmp_path):
    qc.write_answers(answers, tmp_path / "answers.parquet")
    plain = partition_parquet(tmp_path / "answers.parquet", tmp_path / "plain", domain=STARS)
    randomize_store(plain, nearby, tmp_path / "reports", random_state=1)
    store = Store.open(tmp_path / "reports")
    assert store.mechanism == nearby
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulatedNoiseWarning)
        with ignores_noise():
            found = infer_store(store, veterans, tmp_path / "truths.parquet")
    assert len(pd.read_parquet(tmp_path / "truths.parquet")) == 60
    assert found.method == veterans
    words = ["randomize", tmp_path / "answers.parquet", "-m", "nearby-level", "--epsilon", "2"]
    words += ["--levels", "1,2,3,4,5", "-o", tmp_path / "sent.jsonl"]
    run(words)
    run(["infer", tmp_path / "sent.jsonl", "--method", "veterans-vote", "-o", tmp_path / "t.csv"])
    assert len(pd.read_csv(tmp_path / "t.csv")) == 60


def run(words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output


def test_a_campaign(nearby, veterans, desk, tmp_path):
    campaign = desk.campaign(nearby, tasks=4, method=json.loads(json.dumps(veterans.to_dict())))
    config = desk.guest(campaign).config
    assert config["channel"]["weights"] == nearby.channel.weights.tolist()
    assert config["report"]["value"] == [0, 4]
    for place in range(3):
        client = Client(desk.link(campaign), folder=tmp_path / str(place), patience=1e6)
        assert "the answer '1' is reported as '1' in 31.0 %" in " ".join(client.noise_text)
        assert client.answer({"t0": 1, "t1": 5, "t2": 3}).accepted == 3
        assert client.stored().as_sent
    with ignores_noise():
        assert Inferrer(desk.server.database).infer(bytes.fromhex(campaign))
    results = desk.client.get(f"/campaigns/{campaign}/results").json()
    assert results["method"]["method"] == "veterans-vote"
    reports = desk.client.get(f"/campaigns/{campaign}/reports").content
    (tmp_path / "reports.jsonl").write_bytes(io.BytesIO(reports).read())
    assert qc.read_reports(tmp_path / "reports.jsonl").mechanism == nearby
