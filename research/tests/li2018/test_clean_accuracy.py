import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.datasets.dataset import Dataset, load_dataset
from quietcrowd_research.li2018.clean_accuracy import WEIGHTS, clean_accuracies


def test_every_weight_increases():
    p = np.linspace(0.01, 0.99, 99)
    for weight in WEIGHTS.values():
        assert (np.diff(weight(p)) >= 0).all()


def test_a_tie_counts_as_the_fraction_that_is_right():
    votes = pd.DataFrame({"task": ["a", "a"], "worker": [1, 2], "label": ["x", "y"]})
    answers = qc.Answers.from_frame(votes, qc.Categorical(["x", "y"]))
    truths = pd.DataFrame({"task": ["a"], "label": ["x"]})
    frame = clean_accuracies(
        Dataset(name="tie", answers=answers, truths=pa.Table.from_pandas(truths))
    )
    assert set(frame["right"]) == {0.5}


def test_log_odds_are_the_weighted_vote(data_folder):  # noqa: ARG001
    """On Duchenne; the other functions find 0.723 to 0.774."""
    crowd = load_dataset("duchenne")
    frame = clean_accuracies(crowd).set_index("weight")
    vote = qc.WeightedVote(smoothing=0).fit(crowd.answers)
    wrong = qc.error_rate(vote, crowd.truths)
    assert frame.loc["log(p / (1 - p))", "accuracy"] == pytest.approx(1 - wrong)
    assert frame["right"].min() == 115
    assert frame["right"].max() == 123
