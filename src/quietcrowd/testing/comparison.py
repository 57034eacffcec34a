"""Bitwise comparison of estimates."""

from typing import Any

import pandas as pd

from quietcrowd.inference.estimate import TruthEstimate


def assert_estimates_equal(
    left: TruthEstimate[Any], right: TruthEstimate[Any], *, tied_tasks: bool = True
) -> None:
    """Raise `AssertionError` unless two estimates are bitwise equal, apart from the order of rows.

    Parameters
    ----------
    left, right : TruthEstimate
        Tasks and workers are matched by their ids as text.
    tied_tasks : bool
        Whether to compare the truths of tied tasks, which are random.
    """
    for name, key in (("truths", "task"), ("workers", "worker")):
        ours, theirs = (
            by_id(getattr(estimate, f"{name}_as")("pandas"), key) for estimate in (left, right)
        )
        assert_same(ours, theirs, tied_tasks=tied_tasks, name=name)
    assert left.history == right.history, f"histories differ: {left.history} and {right.history}"


def by_id(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    """Sort a frame by its ids as text."""
    frame = frame.assign(**{key: frame[key].astype(str)})
    return frame.sort_values(key).reset_index(drop=True)


def assert_same(
    left: pd.DataFrame, right: pd.DataFrame, *, tied_tasks: bool, name: str = "truths"
) -> None:
    """Raise `AssertionError` unless two frames are bitwise equal, optionally without tied tasks."""
    if not tied_tasks and "tied" in left:
        pd.testing.assert_series_equal(left["tied"], right["tied"])
        left, right = (frame[~frame["tied"]] for frame in (left, right))
    pd.testing.assert_frame_equal(left, right, check_exact=True, check_dtype=False, obj=name)
