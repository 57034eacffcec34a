"""What a user writes whose type checker is strict; `tests/test_types.py` checks it, and runs it."""

from typing import assert_type

import pandas as pd
import polars as pl
import pyarrow as pa

import quietcrowd as qc

votes = pd.DataFrame({"task": [*"aaabbb"], "worker": [*"uvwuvw"], "label": [*"xyyxxx"]})
gold = pd.Series({"a": "x"})

estimate = qc.fit(data=votes, gold=gold)
assert_type(estimate, qc.TruthEstimate[pd.DataFrame])
for frame in (estimate.truths, estimate.workers, estimate.posterior):
    assert_type(frame, pd.DataFrame)
    assert isinstance(frame, pd.DataFrame)
found: list[str] = estimate.truths["truth"].tolist()
assert found == ["x", "x"]

method = qc.DawidSkene()
assert_type(method.fit(data=votes, gold={"a": "y"}).truths, pd.DataFrame)
labels = method.fit_predict(votes, gold=gold)
assert labels.loc["a"] == "x"
assert isinstance(labels, pd.Series)
assert_type(method.fit_predict_proba(data=votes, gold=gold), pd.DataFrame)
assert_type(method.extend(method.fit(votes), votes[:3].assign(task="c")).truths, pd.DataFrame)

polars = method.fit(pl.from_pandas(votes))
assert_type(polars, qc.TruthEstimate[pl.DataFrame])
assert_type(polars.truths, pl.DataFrame)
assert isinstance(polars.truths, pl.DataFrame)
assert_type(polars.truths_as("pandas"), pd.DataFrame)
assert_type(method.fit_predict(pl.from_pandas(votes)), pl.DataFrame)
lazy = qc.fit(pl.from_pandas(votes).lazy())
assert_type(lazy.workers, pl.DataFrame)
assert isinstance(lazy.workers, pl.DataFrame)
arrow = qc.fit(pa.Table.from_pandas(votes))
assert isinstance(arrow.truths, pa.Table)

answers = qc.Answers.from_frame(votes, qc.Categorical(["x", "y"]))
mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=2.0)
assert_type(mechanism.epsilon, float | None)
reports = mechanism.randomize(answers)
assert_type(reports, qc.Reports)
assert_type(qc.fit(reports).truths, pd.DataFrame)
assert_type(mechanism.guarantee(answers=2, tasks=2).epsilon, float)


def accuracy(given: qc.TruthEstimate) -> float:
    """Return the share of right labels; an estimate without more words is one of pandas."""
    assert_type(given.truths, pd.DataFrame)
    return 1 - qc.error_rate(given, gold)


assert accuracy(estimate) == 1.0
assert qc.error_rate(polars, gold) in {0.0, 1.0}  # of any library

several = qc.binary_answers(
    pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [["x"]]}), ["x", "y"]
)
assert_type(qc.label_sets(qc.NoiseAware().fit(several)), pd.DataFrame)
assert_type(qc.suggest_tasks(qc.NoiseAware().fit(answers), 2), pd.DataFrame)
