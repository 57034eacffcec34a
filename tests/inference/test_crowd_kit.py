"""Labels are those of crowd-kit, where it is installed; `make bench` installs it and runs this."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_expit, logsumexp
from tests.programs import finished

import quietcrowd as qc
from quietcrowd.formats import write_table

ROOT = Path(__file__).parents[2]
PEERS = ROOT / ".venv-peers" / "bin" / "python"

pytestmark = pytest.mark.usefixtures("data_folder")

if not PEERS.exists():
    pytest.skip("crowd-kit is not installed: make bench does it", allow_module_level=True)


def peer(method, answers, folder):
    """Return what crowd-kit's method found."""
    path = folder / "answers.parquet"
    codes = dict(zip(answers.domain.labels, range(answers.domain.size), strict=True))
    frame = answers.to_frame()
    write_table(frame.assign(label=frame["label"].map(codes)), path)
    words = [PEERS, ROOT / "benchmarks" / "peers" / "crowd_kit_labels.py", method, path]
    return json.loads(finished(*words, check=True).output)


def shares_of_equal_labels(estimate, found):
    """Return the share of tasks that both gave the same label."""
    codes = dict(zip(estimate.answers.tasks.to_pylist(), estimate.estimates.truths, strict=True))
    return np.mean(
        [codes[t] == label for t, label in zip(found["tasks"], found["labels"], strict=True)]
    )


@pytest.mark.parametrize("name", ["dog", "duck", "web"])
@pytest.mark.parametrize("one_coin", [False, True])
def test_dawid_skene(name, one_coin, tmp_path):
    answers = qc.load_dataset(name).answers
    found = peer("OneCoinDawidSkene" if one_coin else "DawidSkene", answers, tmp_path)
    estimate = qc.DawidSkene(
        one_coin=one_coin,
        smoothing=0,
        trust=0,
        class_smoothing=0,
        max_iter=found["iterations"],
        tol=0,
    ).fit(answers)
    assert shares_of_equal_labels(estimate, found) >= 0.99


@pytest.mark.parametrize("name", ["duck", "wsd"])
def test_glad(name, tmp_path):
    answers = qc.load_dataset(name).answers
    found = peer("GLAD", answers, tmp_path)
    estimate = qc.GLAD(max_iter=1000).fit(answers)
    alpha = dict(zip(found["workers"], found["alpha"], strict=True))
    ease = dict(zip(found["tasks"], found["ease"], strict=True))
    theirs = log_posterior(
        answers,
        np.array([alpha[worker] for worker in answers.workers.to_pylist()]),
        np.array([ease[task] for task in answers.tasks.to_pylist()]),
    )
    ours = log_posterior(answers, estimate.state.alpha, np.log(estimate.estimates.easiness))
    assert shares_of_equal_labels(estimate, found) >= 0.97 or ours > theirs
    assert ours > theirs - 1e-5


def log_posterior(answers, alpha, ease):
    """Return GLAD's log-posterior per answer, the truths summed out."""
    labels = answers.domain.size
    x = alpha[answers.worker_codes] * np.exp(ease[answers.task_codes])
    wrong = log_expit(-x) - np.log(labels - 1)
    rows = np.where(
        answers.values[:, None] == np.arange(labels), log_expit(x)[:, None], wrong[:, None]
    )
    joint = np.full((len(answers.tasks), labels), -np.log(labels))
    np.add.at(joint, answers.task_codes, rows)
    priors = ((alpha - 1) ** 2).sum() / 2 + ((ease - 1) ** 2).sum() / 2
    return (logsumexp(joint, axis=1).sum() - priors) / len(answers)
