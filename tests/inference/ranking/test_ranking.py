"""A ranking as it is looked at: its frame, its intervals, its page of a notebook."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attrs import evolve
from scipy.special import expit

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import Ranking


@pytest.fixture
def ranking():
    """Return a ranking of three items with a covariance that can be added up by hand."""
    return Ranking(
        items=pa.array(["b", "a", "<i>"]),
        scores=np.array([0.0, 1.0, -1.0]),
        covariance=np.array([[0.5, 0.1, 0.0], [0.1, 0.4, 0.0], [0.0, 0.0, 0.3]]),
        comparisons=np.array([4, 3, 1]),
        reports=4,
        workers=2,
        mechanism=None,
        spread=2.5,
        history=(-3.0, -2.0),
        converged=True,
        notes=("Few are told apart.",),
    )


def test_the_frame_has_the_best_item_first(ranking):
    frame = ranking.to_frame()
    assert list(frame.columns) == [
        *("item", "rank", "score", "standard_error", "low", "high", "comparisons")
    ]
    assert frame["item"].tolist() == ranking.ranking == ["a", "b", "<i>"]
    assert frame["rank"].tolist() == [1, 2, 3]
    assert frame["comparisons"].tolist() == [3, 4, 1]
    ends = frame["score"] + 1.959964 * frame["standard_error"]
    assert frame["high"].tolist() == pytest.approx(ends.tolist(), abs=1e-5)
    assert isinstance(ranking.to_frame("pyarrow"), pa.Table)


def test_standard_errors_are_of_the_score_less_the_mean(ranking):
    less = np.eye(3) - 1 / 3
    wanted = np.sqrt(np.diagonal(less @ ranking.covariance @ less))
    assert ranking.standard_errors == pytest.approx(wanted)


def test_the_chance_of_a_preference_has_an_interval(ranking):
    error = np.sqrt(0.4 + 0.5 - 0.2)
    chance = ranking.chance("a", "b")
    assert chance.probability == pytest.approx(expit(1.0))
    assert chance.low == pytest.approx(expit(1 - 1.959964 * error))
    assert chance.high == pytest.approx(expit(1 + 1.959964 * error))
    assert ranking.chance("b", "a").probability == pytest.approx(1 - chance.probability)


def test_neighbours_are_told_apart_where_their_interval_leaves_out_0(ranking):
    assert ranking.distinguished == 0
    sure = qc.BradleyTerry().fit(
        pd.DataFrame(
            {"worker": range(100), "left": "x", "right": "y", "label": ["x"] * 90 + ["y"] * 10}
        ),
        non_private=True,
    )
    assert sure.distinguished == 1
    assert sure.notes == (
        "Pairs of neighbors in the ranking that differ, each at a confidence of 95 %: 1 of 1.",
    )


def test_unknown_items_and_an_item_beside_itself_are_errors(ranking):
    with pytest.raises(ParameterError, match="'c' is not one of the 3 compared"):
        ranking.chance("a", "c")
    with pytest.raises(ParameterError, match="must differ"):
        ranking.chance("a", "a")


def test_a_notebook_shows_it_and_no_name_as_html(ranking):
    page = ranking._repr_html_()
    assert "Ranking(3 items, 4 comparisons, 2 workers, plain, converged)" in page
    assert "Few are told apart." in page
    assert "&lt;i&gt;" in page
    assert "<i>" not in page


def test_equal_scores_keep_the_order_in_which_items_occur():
    """Three items each beat one and lose to one: rounding has no say in their order."""
    rows = [("ann", "x", "y", "x"), ("bob", "y", "z", "y"), ("eve", "z", "x", "z")]
    frame = pd.DataFrame(rows, columns=["worker", "left", "right", "label"])
    for order in ([0, 1, 2], [1, 2, 0]):
        turned = frame.iloc[order]
        assert qc.BradleyTerry().fit(turned, non_private=True).ranking == list(
            dict.fromkeys([*turned["left"]])
        )


def test_scores_that_differ_by_rounding_errors_are_equal(ranking):
    nearly = evolve(ranking, scores=np.array([-1e-12, 0.0, 1e-12]))
    assert nearly.ranking == ranking.items.to_pylist()
