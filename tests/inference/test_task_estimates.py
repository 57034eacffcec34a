from itertools import pairwise

import numpy as np
import pytest

from quietcrowd.inference.task_estimates import LabelEstimates, NumericEstimates, Scatter


def of_some(count, seed=0):
    rng = np.random.default_rng(seed)
    error = rng.random(count)
    error[::3] = 0.0
    error[1::7] = np.nan
    return NumericEstimates(truths=rng.normal(size=count), standard_error=error, spread=error)


def test_only_what_was_inferred_counts():
    room = of_some(50)
    inferred = room.standard_error > 0
    scatter = Scatter.of(room)
    assert scatter.inferred == inferred.sum()
    assert scatter.spread == pytest.approx(np.std(room.truths[inferred]), rel=1e-12)
    assert scatter.noise == pytest.approx(
        np.sqrt(np.mean(room.standard_error[inferred] ** 2)), rel=1e-12
    )


@pytest.mark.parametrize("cuts", [(10,), (1, 2, 49), (0, 50)])
def test_parts_add_up(cuts):
    room = of_some(50)
    bounds = [0, *cuts, 50]
    total = Scatter()
    for start, end in pairwise(bounds):
        columns = {name: getattr(room, name)[start:end] for name in ("truths", "standard_error")}
        total += Scatter.of(NumericEstimates(**columns, spread=columns["truths"]))
    whole = Scatter.of(room)
    assert total.inferred == whole.inferred
    assert total.spread == pytest.approx(whole.spread, rel=1e-12)
    assert total.noise == pytest.approx(whole.noise, rel=1e-12)


def test_labels_tell_how_many_are_expected_to_be_wrong():
    room = LabelEstimates.empty(4, np.uint8)
    room.confidence[:] = [1.0, 0.75, 0.5, 0.25]
    assert Scatter.of(room).error_rate == 0.375
    parts = [
        Scatter.of(LabelEstimates(truths=room.truths[one], confidence=part, tied=room.tied[one]))
        for one, part in ((slice(0, 1), room.confidence[:1]), (slice(1, 4), room.confidence[1:]))
    ]
    assert parts[0] + parts[1] == Scatter.of(room) == Scatter() + Scatter.of(room)
