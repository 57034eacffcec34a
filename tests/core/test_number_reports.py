import numpy as np
import pytest
from tests.core.kernels import assert_recorded_bits

from quietcrowd import _core

WORST = ([0.0, -0.0, 1e-300, 500.0, -500.0, 1e300, np.inf, -np.inf], [0.0, 1.0, np.nan])
"""Two NaN of unlike signs have no order, and inf - inf has one of another sign than np.nan."""


def tables(rng, workers, distributions, columns):
    beliefs = rng.dirichlet(np.ones(distributions), workers)
    logs = -((rng.normal(size=(distributions, columns)) * 4) ** 2)
    return beliefs, logs, np.zeros((workers, columns), np.int32)


def with_some(rng, logs, worst):
    """Return log densities of which some are such values."""
    return np.where(rng.random(logs.shape) < 0.05, rng.choice(worst, logs.shape), logs)


@pytest.mark.parametrize(
    ("workers", "distributions", "columns"),
    [(0, 3, 5), (1, 1, 1), (4, 0, 9), (3, 20, 31), (2, 7, 32), (5, 40, 1000)],
)
def test_every_bit_of_blended_distributions(workers, distributions, columns):
    rng = np.random.default_rng(columns)
    beliefs, logs, table = tables(rng, workers, distributions, columns)
    assert_recorded_bits("blend_distributions", beliefs, logs, table)
    for worst in WORST:
        changed = with_some(rng, logs, worst)
        assert_recorded_bits("blend_distributions", beliefs, changed, table)


@pytest.mark.parametrize(
    ("workers", "distributions", "columns"),
    [(0, 3, 5), (1, 1, 1), (4, 3, 0), (3, 20, 31), (2, 13, 200), (5, 40, 100)],
)
def test_every_bit_of_weighed_distributions(workers, distributions, columns):
    rng = np.random.default_rng(columns)
    residuals = rng.integers(-(2**60), 2**60, (workers, columns))
    residuals[rng.random(residuals.shape) < 0.5] = 0
    residuals[rng.random(residuals.shape) < 0.1] = 2**63 - 1
    logs = -((rng.normal(size=(columns, distributions)) * 4) ** 2)
    evidence = np.full((workers, distributions), 7.0)
    given = residuals, 2.0**30 / 3.0, logs, evidence
    assert_recorded_bits("weigh_distributions", *given)
    for worst in WORST:
        changed = with_some(rng, logs, worst)
        given = residuals, 2.0**30 / 3.0, changed, evidence
        assert_recorded_bits("weigh_distributions", *given)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_sizes_and_types_that_do_not_fit_are_refused(place, axis):
    given = tables(np.random.default_rng(1), 5, 4, 40)
    other = np.ones((5, 40), np.int64), 1.0, np.ones((40, 4)), np.zeros((5, 4))
    for kernel, arguments, at in (
        (_core.blend_distributions, given, place),
        (_core.weigh_distributions, other, (0, 2, 3)[place]),
    ):
        short = [*arguments]
        short[at] = np.delete(short[at], 0, axis=axis)
        with pytest.raises(ValueError, match="must"):
            kernel(*short)
        changed = [*arguments]
        changed[at] = changed[at].astype(np.float32)
        with pytest.raises(TypeError):
            kernel(*changed)
