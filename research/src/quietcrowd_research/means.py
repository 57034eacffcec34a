"""Tables of means that stand beside their standard errors."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd


def tell_means(frame: pd.DataFrame) -> Sequence[pd.DataFrame | str]:
    """Return a table in which each score has its standard error, and how often it was run.

    Parameters
    ----------
    frame : pandas.DataFrame
        For each score x a column ``x_se``; a column ``trials``.
    """
    table = pd.DataFrame(index=frame.index)
    for name in frame:
        if f"{name}_se" in frame:
            pairs = zip(frame[name], frame[f"{name}_se"], strict=True)
            table[name] = [f"{mean:.3f} ±{error:.3f}" for mean, error in pairs]
        elif not str(name).endswith("_se") and name != "trials":
            table[name] = frame[name]
    trials = int(frame["trials"].max())
    return [table, f"Means of {trials} trials, with their standard errors."]
