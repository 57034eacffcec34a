"""``quietcrowd lab audit`` as a user meets it."""

import json
from functools import partial

import pytest
from attrs import evolve

from quietcrowd import RandomizedResponse


@pytest.fixture
def run(run):
    """Return a function that runs the command and gives (status, output, errors)."""
    return partial(run, "lab", "audit")


@pytest.mark.nightly
def test_the_printed_two_layer_mechanism(run):
    status, text, errors = run("two-layer", "--epsilon", 1, "--answers-per-worker", 277)
    assert (status, errors) == (0, "")
    assert max(map(len, text.splitlines())) <= 80
    assert "Claimed: epsilon = 1; the claim is violated.\n" in text
    assert "Exact:   epsilon = 5.625 about one, 189.2 about all" in text
    assert "on the real reports of 18,050 workers" in " ".join(text.split())
    assert text.endswith("Verdict: not refuted; no measured loss exceeds the guarantee.\n")


@pytest.mark.nightly
def test_json_and_a_picture(run, tmp_path):
    picture = tmp_path / "curve.png"
    status, text, _ = run(
        "laplace:participation=released", "--between", "0,10", "--simulate", 1, "--samples", 2000,
        *("--json", "--plot", picture),
    )  # fmt: skip
    data = json.loads(text)
    assert status == 0
    assert data["domain"] == "Interval(low=0.0, high=10.0)"
    assert data["proven"]["simulated"]
    assert data["verdict"] == "holds"
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
@pytest.mark.slow
def test_labels_and_slow_noise(run, monkeypatch):
    assert "'a', 'b', 'c'" in run("one-layer", "--labels", "a,b,c", "--samples", 500)[1]
    monkeypatch.setattr("quietcrowd.commands.printing.SLOW", 0.1)
    _, _, errors = run("laplace", "--epsilon", 2, "--answers-per-worker", 1, "--samples", 10_000)
    assert errors == "Sampling 49,200 exact noise values: about 0 s.\n"


@pytest.mark.nightly
def test_twenty_answers_unless_it_says_otherwise(run):
    assert "one-layer, 20 answers a worker" in run("one-layer", "--samples", 500)[1]


@pytest.mark.slow
def test_a_broken_mechanism_ends_with_a_status_of_its_own(run, monkeypatch):
    honest = RandomizedResponse.guarantee
    monkeypatch.setattr(
        RandomizedResponse,
        "guarantee",
        lambda self, answers=1, tasks=None: evolve(honest(self, answers, tasks), epsilon=0.5),
    )
    status, text, errors = run("one-layer", "--samples", 5000)
    assert (status, errors) == (1, "")
    assert "Verdict: BROKEN; the privacy loss exceeds the guarantee." in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("two-layr",), "did you mean 'two-layer'?"),
        (("laplace:fil=1",), "did you mean 'fill'?"),
        (("one-layer", "--answers-per-worker", 0), "--answers-per-worker"),
        (("one-layer", "--samples", 3), "draws must be a whole number, at least 100; got 3"),
        (("one-layer", "--confidence", 1), "confidence must be above 0 and below 1; got 1.0"),
        (("one-layer", "--answers-per-worker", 20_000), "at most 10,000 answers; got 20,000"),
        (("one-layer", "--plot", "curve.pdf"), "must end in .png"),
        (("one-layer", "--between", "0,1"), "domain must be Categorical or Ordinal"),
    ],
)
def test_errors_are_one_line(run, words, message):
    status, output, errors = run(*words)
    assert (status, output) == (2, "")
    assert message in errors
    assert errors.startswith("quietcrowd: error: ")
    assert errors.count("\n") == 1


def test_help_fits_and_has_examples(run):
    status, text, _ = run("--help")
    assert status == 0
    assert "Example: quietcrowd lab audit two-layer --epsilon 1 --answers-per-worker 277" in text
    assert max(map(len, text.splitlines())) <= 80
