"""What a user writes whose type checker is strict; `tests/test_types.py` checks it, and runs it."""

from typing import assert_type

import pandas as pd
import polars as pl
import pyarrow as pa

import quietcrowd as qc
from quietcrowd.inference import TruthEstimate

VOTES = pd.DataFrame({"task": [*"aaabbb"], "worker": [*"uvwuvw"], "label": [*"xyyxxx"]})
GOLD = pd.Series({"a": "x"})


def frames_of_pandas() -> None:
    """Answers and truths in frames of pandas."""
    estimate = qc.fit(data=VOTES, gold=GOLD, non_private=True)
    assert_type(estimate, TruthEstimate[pd.DataFrame])
    for frame in (estimate.truths, estimate.workers, estimate.posterior):
        assert_type(frame, pd.DataFrame)
        assert isinstance(frame, pd.DataFrame)
    found: list[str] = estimate.truths["truth"].tolist()
    assert found == ["x", "x"]
    assert accuracy(estimate) == 1.0

    method = qc.DawidSkene()
    assert_type(method.fit(data=VOTES, gold={"a": "y"}, non_private=True).truths, pd.DataFrame)
    labels = method.fit_predict(VOTES, gold=GOLD, non_private=True)
    assert labels.loc["a"] == "x"
    assert isinstance(labels, pd.Series)
    assert_type(method.fit_predict_proba(data=VOTES, gold=GOLD, non_private=True), pd.DataFrame)
    more = method.extend(
        method.fit(VOTES, non_private=True), VOTES[:3].assign(task="c"), non_private=True
    )
    assert_type(more.truths, pd.DataFrame)


def accuracy(given: TruthEstimate) -> float:
    """Return the share of right labels; an estimate without more words is one of pandas."""
    assert_type(given.truths, pd.DataFrame)
    return 1 - qc.error_rate(given, GOLD)


def frames_of_others() -> None:
    """What comes in is what comes back."""
    polars = qc.MajorityVote().fit(pl.from_pandas(VOTES), non_private=True)
    assert_type(polars, TruthEstimate[pl.DataFrame])
    assert_type(polars.truths, pl.DataFrame)
    assert isinstance(polars.truths, pl.DataFrame)
    assert_type(polars.truths_as("pandas"), pd.DataFrame)
    assert qc.error_rate(polars, GOLD) in {0.0, 1.0}  # takes those of any library
    labels = qc.MajorityVote().fit_predict(pl.from_pandas(VOTES), non_private=True)
    assert_type(labels, pl.DataFrame)
    lazy = qc.fit(pl.from_pandas(VOTES).lazy(), non_private=True)
    assert_type(lazy.workers, pl.DataFrame)
    assert isinstance(lazy.workers, pl.DataFrame)
    assert isinstance(qc.fit(pa.Table.from_pandas(VOTES), non_private=True).truths, pa.Table)


def reports_and_sets() -> None:
    """A mechanism takes the domain of answers; reports are inferred as answers are."""
    answers = qc.Answers.from_frame(VOTES, qc.Categorical(["x", "y"]))
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=2.0)
    assert_type(mechanism.epsilon, float | None)
    reports = mechanism.randomize(answers)
    assert_type(reports, qc.Reports)
    assert_type(qc.fit(reports).truths, pd.DataFrame)
    assert_type(mechanism.guarantee(answers=2, tasks=2).epsilon, float)
    assert_type(qc.NoiseAware().fit(answers).suggest_tasks(2), pd.DataFrame)
    one = pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [["x"]]})
    sets = qc.NoiseAware().fit(qc.Answers.from_label_sets(one, ["x", "y"])).label_sets()
    assert_type(sets, pd.DataFrame)
    assert isinstance(sets, pd.DataFrame)
