import numpy as np
import pytest

from quietcrowd.planning.smoothing import LEAST_CELLS, smooth

DRAWS = 12
THEORY = np.linspace(0.1, 1.2, 12)
TRUE = 0.05 + 0.7 * THEORY + 0.1 * THEORY**2


def drawn(rng, middle, *, common=0.0):
    """Return draws about the middles of cells; all cells of a draw share an error."""
    own = 0.1 * rng.normal(size=(len(middle), DRAWS))
    return middle[:, np.newaxis] + own + common * rng.normal(size=DRAWS)


def means_of(found):
    return np.array([cell.draws.mean() for cell in found])


@pytest.mark.parametrize("bend", [0.0, 0.2], ids=["on the curve", "off the curve"])
def test_errors_are_nearer_and_standard_errors_honest(bend):
    """300 sets of cells; the seed is fixed, the outcome the same in every run.

    A squared error over its variance by 12 draws is that of Student's law, 11/9 in the mean.
    """
    rng = np.random.default_rng(2)
    raw, near, ratio = [], [], []
    for _ in range(300):
        middle = TRUE + bend * np.where(np.arange(12) % 2, 0.5, -0.5)
        draws = drawn(rng, middle, common=0.1)
        found = smooth(draws, list(THEORY))
        raw.append((draws.mean(axis=1) - middle) ** 2)
        near.append((means_of(found) - middle) ** 2)
        doubt = [cell.draws.var(ddof=1) / DRAWS + cell.misfit for cell in found]
        ratio.append(near[-1] / doubt)
    assert np.mean(near) < (0.7 if bend == 0 else 1.02) * np.mean(raw)
    assert 1.0 < np.mean(ratio) < 1.5


def test_few_cells_or_cells_without_theory_stay_where_they_are():
    draws = drawn(np.random.default_rng(0), TRUE)
    few = LEAST_CELLS - 1
    for rows, theory in ((draws[:few], list(THEORY[:few])), (draws, [None, *THEORY[1:]])):
        found = smooth(rows, theory)
        assert [cell.misfit for cell in found] == [0.0] * len(rows)
        assert (np.array([cell.draws for cell in found]) == rows).all()


def test_cells_that_are_alike_in_theory_and_errors_are_their_mean():
    found = smooth(np.full((6, 4), 0.3), [0.5] * 6)
    assert means_of(found) == pytest.approx([0.3] * 6)
