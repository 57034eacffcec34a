"""Hypothesis strategies for domains and crowds."""

from typing import Any

import pandas as pd
from hypothesis import strategies as st

from quietcrowd.domains import Categorical, FiniteDomain


@st.composite
def finite_domains(draw: st.DrawFn, min_size: int = 2, max_size: int = 6) -> Categorical:
    """Draw a categorical domain of strings or integers."""
    kind: st.SearchStrategy[Any] = draw(
        st.sampled_from([st.integers(-5, 50), st.text("abcxyz", min_size=1, max_size=3)])
    )
    return Categorical(draw(st.lists(kind, min_size=min_size, max_size=max_size, unique=True)))


@st.composite
def crowds(
    draw: st.DrawFn,
    domain: FiniteDomain | None = None,
    max_tasks: int = 8,
    max_workers: int = 8,
) -> pd.DataFrame:
    """Draw a nonempty frame of answers in any order, without a (task, worker) pair twice."""
    chosen = domain if domain is not None else draw(finite_domains())
    pairs = draw(
        st.lists(
            st.tuples(st.integers(0, max_tasks - 1), st.integers(0, max_workers - 1)),
            min_size=1,
            max_size=max_tasks * max_workers,
            unique=True,
        )
    )
    labels = draw(
        st.lists(st.sampled_from(chosen.labels), min_size=len(pairs), max_size=len(pairs))
    )
    return pd.DataFrame(
        {
            "task": [f"task {task}" for task, _ in pairs],
            "worker": [f"worker {worker}" for _, worker in pairs],
            "label": labels,
        }
    )
