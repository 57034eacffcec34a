import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.nightly import nightly
from tests.programs import finished

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def cells(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from under_noise import cells

    return cells


@pytest.mark.parametrize(
    ("by_draw", "by_task", "left"), [(1, 0, 0.1), (0, 1, 1), (1, 1, 2), (0, 0, 1)]
)
def test_standard_errors_are_of_draws_and_tasks(cells, by_draw, by_task, left):
    rng, found, means = np.random.default_rng(0), [], []
    for _ in range(2_000):
        values = (
            by_draw * rng.normal(size=(12, 1))
            + by_task * rng.normal(size=(1, 30))
            + left * rng.normal(size=(12, 30))
        )
        found.append(cells.variance_of_mean(values))
        means.append(values.mean())
    # never below the larger of its parts: with nothing but noise that is up to a half too much
    assert 0.9 < np.mean(found) / np.var(means) < (1.6 if by_draw + by_task == 0 else 1.15)


def cell(cells, losses, **options):
    return cells.Cell(crowd="some", epsilon=1.0, losses=losses, **options)


def test_ratios(cells):
    rng = np.random.default_rng(0)
    one, two = (rng.random((12, 500)) < share for share in (0.2, 0.4))
    made = cell(cells, {"ours": one * 1.0, "other": two * 1.0, "worse": two * 2.0, "oracle": one})
    ratio = made.ratio("ours", "other")
    assert ratio.value == pytest.approx(0.5, abs=0.05)
    assert 0 < ratio.error < 0.05
    assert made.best_other("ours") == "other"
    assert cells.geometric_ratio([made, made], "ours", "other").value == pytest.approx(ratio.value)
    assert cells.best_single([made], "ours") == "other"
    same = made.ratio("ours", "ours")
    assert (same.value, same.error) == (1.0, 0.0)


def test_a_cell_without_any_error_has_a_ratio(cells):
    nothing, some = np.zeros((3, 10)), np.eye(3, 10)
    made = cell(cells, {"ours": nothing, "other": some})
    assert made.ratio("ours", "ours").verdict(1.0) == "met"
    assert made.ratio("other", "ours").verdict(1.1) == "undecided"
    assert np.isfinite(cells.geometric_mean([made], "ours"))


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (1.0, 0.02, "met"),
        (1.05, 0.02, "undecided"),
        (1.2, 0.02, "missed"),
        (1.0, 0.06, "undecided"),
        (2.0, 0.06, "undecided, above"),
        (float("inf"), 0.0, "undecided, above"),
        (float("nan"), 0.0, "missed"),
    ],
)
def test_verdicts(cells, value, error, verdict):
    assert cells.Figure(value, error).verdict(1.06) == verdict


def test_the_worst_verdict_and_the_best(cells):
    assert cells.worst(["met", "missed", "undecided"]) == "missed"
    assert cells.best(["missed", "undecided"]) == "undecided"


@pytest.mark.usefixtures("cells")
def test_draws_are_kept_and_only_the_judged_method_is_run_again(tmp_path):
    from under_noise.records import LOSS, Kept, measure

    runs = []

    def rival(name):
        return lambda scene: runs.append(name) or {LOSS: np.array([scene])}

    rivals = {name: rival(name) for name in ("ours", "other")}
    key = ("part", "88 % alike, so", 0.5)

    def found(again):
        kept = Kept(tmp_path, again)
        return measure(key, 2, lambda rng, draw: rng.random() + draw, rivals, kept)

    first = found([])
    assert runs == ["ours", "other"] * 2
    assert np.array_equal(found(["ours"])["other"][LOSS], first["other"][LOSS])
    assert runs == ["ours", "other"] * 2 + ["ours"] * 2
    assert first["ours"][LOSS].shape == (2, 1)
    assert np.array_equal(first["ours"][LOSS], first["other"][LOSS])  # all see the same


@pytest.mark.usefixtures("cells")
def test_long_tables_of_the_page_are_files():
    from under_noise.page import LONGEST, finished

    rows = "".join(f"| some | {number} | 0.1 ± 0.02 |\n" for number in range(LONGEST + 1))
    head = "| crowd | ε | ours |\n| --- | --- | --- |\n"
    bars = (
        "| geometric mean over ε ≤ 3, against the oracle | 1.2 ± 0.1 | at most 1 | missed |\n"
        "| geometric mean over ε ≤ 3, against one-coin, the best single other method "
        "| 0.8 ± 0.1 |\n"
    )
    text, files = finished(f"## Part A\n\n{bars}\n{head}{rows}\n### Part 2\n\n{head}", "ours")
    assert "errs 0.8 ± 0.1 times as often as one-coin" in text
    assert f"[{LONGEST + 1} rows](truth-under-noise/part-a.csv)" in text
    assert text.count(head) == 1
    assert {name: table.count("\n") for name, table in files.items()} == {"part-a": LONGEST + 2}
    assert files["part-a"].startswith("crowd,ε,ours\nsome,0,0.1 ± 0.02\n")


def test_the_page_links_its_tables():
    page = BENCHMARKS.parent / "research" / "docs" / "truth-under-noise.md"
    linked = re.findall(r"\(truth-under-noise/(.*?\.csv)\)", page.read_text())
    assert sorted(linked) == sorted(path.name for path in page.with_suffix("").iterdir())


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words",
    [
        ["families", "--set", "weak crowd", "--set", "heavy tails", "--epsilon", "2"],
        ["families", "--set", "guesses alike", "--epsilon", "1"],
        ["null", "--set", "2 labels, 50% answer", "--epsilon", "2"],
        ["quality", "--set", "2 labels", "--epsilon", "3"],
        ["numbers", "--set", "simulated crowd", "--epsilon", "5"],
        ["calibration", "--set", "weak, 2 labels", "--epsilon", "2"],
    ],
    ids=lambda words: "-".join(words[:3:2]),
)
def test_a_part_is_printed(words):
    printed = run(words)
    assert "| criterion |" in printed or words[0] == "families"
    assert "| crowd |" in printed


@pytest.mark.nightly
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(
    "part",
    ["labels", *map(nightly, ["two-layer", "hostile", "calibration", "shared"])],
)
def test_a_real_set(part):
    assert "| duck" in run([part, "--set", "duck", "--epsilon", "1"])


def run(words):
    """Return what a small run prints."""
    command = [sys.executable, BENCHMARKS / "truth_under_noise.py", "--subject", "weighted"]
    return finished(*command, "--draws", "2", "--part", *words, check=True).output
