import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betaln
from tests.core.kernels import assert_recorded_bits

from quietcrowd import _core
from quietcrowd.inference.labels.accuracies import EVIDENCE_ONE, GRID
from quietcrowd.inference.labels.reports import REPORT_ONE

NODES = np.linspace(-10.0, 10.0, 5)
ANGLES = (np.arange(GRID) + 0.5) / GRID * np.pi
GRID_ACCURACIES = np.sin(ANGLES / 2) ** 2
EVEN = np.sin(ANGLES) / np.sin(ANGLES).sum()
ALONE = np.zeros(1)


def report_logs(nodes, accuracies):
    logs = np.empty((len(nodes), len(accuracies)))
    _core.fill_report_logs(nodes, accuracies, logs)
    return logs


def evidences(records, logs, log_weights, crowds):
    sums = np.zeros(len(crowds), np.int64)
    _core.add_evidences(records, logs, log_weights, crowds, sums)
    return sums


def crowd_counts(records, logs, log_weights, crowd):
    sums = np.zeros(len(crowd), np.int64)
    _core.add_crowd_counts(records, logs, log_weights, crowd, sums)
    return sums


def estimate_accuracies(records, *arguments):
    found = np.empty((3, len(records)))
    _core.estimate_accuracies(records, *arguments, found)
    return found


def histograms(*records):
    """Return what plain answers to known truths tell, given how many were right and wrong."""
    found = np.zeros((len(records), 1, len(NODES) + 1))
    for place, (right, wrong) in enumerate(records):
        found[place, 0, -2], found[place, 0, 0] = right, wrong
        found[place, 0, -1] = -10.0 * right
    return np.rint(found * REPORT_ONE).astype(np.int64)


@pytest.mark.parametrize(
    "record", [(0, 0), (1, 0), (6, 4), (75, 25), (99, 1), (7_000, 3_000), (10**6, 10**3)]
)
def test_the_posterior_is_that_of_a_coin(record):
    right, wrong = record
    found = estimate_accuracies(histograms(record), NODES, ALONE, EVEN, 0.05)[:, 0]
    exact = stats.beta(right + 1, wrong + 1)
    close = 0.03 * exact.std() + 2e-4
    assert found[0] == pytest.approx(exact.mean(), abs=close)
    assert found[1:] == pytest.approx(exact.ppf([0.05, 0.95]), abs=2 * close)


def test_evidence_is_that_of_a_coin_and_workers_add_up():
    records = [(3, 1), (10, 5), (0, 2)]
    logs = report_logs(NODES, GRID_ACCURACIES)
    found = evidences(histograms(*records), logs, ALONE, EVEN[None]) / EVIDENCE_ONE
    exact = sum(betaln(right + 1, wrong + 1) for right, wrong in records)
    assert found[0] == pytest.approx(exact, abs=0.02)
    turned = evidences(histograms(*records[::-1]), logs, ALONE, EVEN[None]) / EVIDENCE_ONE
    assert turned[0] == found[0]


def test_the_crowd_is_counted_where_its_workers_are():
    logs = report_logs(NODES, GRID_ACCURACIES)
    found = crowd_counts(histograms((900, 100), (100, 900)), logs, ALONE, EVEN) / 2.0**32
    assert found.sum() == pytest.approx(2.0)
    assert found[GRID_ACCURACIES > 0.5].sum() == pytest.approx(1.0)
    assert abs(found @ GRID_ACCURACIES - 1.0) < 0.01


def test_channels_are_mixed_with_their_weights():
    """Of a worker whose noise is one of two distributions, the reports tell which."""
    two = np.concatenate([histograms((80, 20)), histograms((20, 80))], axis=1)
    two[0, 0, -1] -= np.int64(50 * REPORT_ONE)
    for weights, expected in (([0.5, 0.5], 0.2), ([1.0, 1e-300], 0.8)):
        found = estimate_accuracies(two, NODES, np.log(np.array(weights)), EVEN, 0.05)
        assert found[0, 0] == pytest.approx(expected, abs=0.02)


KERNELS = ["fill_report_logs", "add_evidences", "add_crowd_counts", "estimate_accuracies"]


def arguments_of(rng, workers, channels=2, places=32, grid=GRID, distributions=11):
    """Return the arguments of each kernel; among the workers one without reports, and one sure."""
    nodes = 3.0 * np.sinh(np.linspace(-1, 1, places) * np.arcsinh(rng.choice([0.5, 4.0, 10.0]) / 3))
    records = rng.integers(0, 2**33, (workers, channels, places + 1))
    records[rng.random(records.shape) < 0.6] = 0
    records[..., -1] *= -8
    records[:1] = 0
    records[1:2, ..., :3], records[1:2, ..., 3:-1] = 2**50, 0
    log_weights = np.log(rng.dirichlet(np.ones(channels)))
    crowds = rng.dirichlet(np.ones(grid), distributions)
    logs = (
        np.log(rng.random((places, grid))) if grid != GRID else report_logs(nodes, GRID_ACCURACIES)
    )
    return {
        "fill_report_logs": (nodes, rng.random(grid), np.zeros((places, grid))),
        "add_evidences": (
            records,
            logs,
            log_weights,
            crowds,
            rng.integers(0, 2**40, distributions),
        ),
        "add_crowd_counts": (records, logs, log_weights, crowds[0], rng.integers(0, 2**40, grid)),
        "estimate_accuracies": (
            records,
            nodes,
            log_weights,
            crowds[0],
            0.05,
            np.zeros((3, workers)),
        ),
    }


def assert_same(name, given):
    assert_recorded_bits(name, *given)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("workers", [0, 1, 40])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_bit(name, workers, channels):
    assert_same(name, arguments_of(np.random.default_rng(workers), workers, channels)[name])


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "estimate_accuracies"])
@given(shape=st.tuples(*[st.integers(1, 40)] * 4), seed=st.integers(0, 2**32))
def test_every_bit_of_any_shape(name, shape, seed):
    """Except of `estimate_accuracies`, which has a grid of its own."""
    places, grid, distributions, workers = shape
    given = arguments_of(np.random.default_rng(seed), workers, 2, places, grid, distributions)
    assert_same(name, given[name])


@given(workers=st.integers(1, 5), places=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_every_bit_of_estimates_by_any_nodes(workers, places, seed):
    given = arguments_of(np.random.default_rng(seed), workers, 2, places)
    assert_same("estimate_accuracies", given["estimate_accuracies"])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("extreme", [0.0, 1e-300, 1e300, -np.inf])
def test_every_bit_of_extreme_numbers(name, extreme):
    """An impossible channel, a distribution without an accuracy, likelihoods out of range."""
    given = arguments_of(np.random.default_rng(1), 5)[name]
    for place, array in enumerate(given[:-1]):
        if not isinstance(array, np.ndarray) or (np.isinf(extreme) and name != "add_evidences"):
            continue
        changed = array.copy()
        if array.dtype == np.int64:
            changed.flat[:5] = [2**63 - 1, -(2**63), 1, -1, 2**62]
        else:
            changed.flat[0] = extreme
        assert_same(name, (*given[:place], changed, *given[place + 1 :]))


@pytest.mark.parametrize("name", ["add_evidences", "add_crowd_counts", "estimate_accuracies"])
def test_every_bit_if_one_channel_is_impossible(name):
    given = list(arguments_of(np.random.default_rng(2), 5)[name])
    given[2] = np.array([-np.inf, 0.0])
    assert_same(name, given)


@pytest.mark.parametrize("name", ["add_crowd_counts", "estimate_accuracies"])
def test_every_bit_of_a_crowd_that_is_certain(name):
    for accuracy in (0, 31, 63):
        given = list(arguments_of(np.random.default_rng(3), 5)[name])
        given[3] = np.eye(GRID)[accuracy]
        assert_same(name, given)


@pytest.mark.parametrize("name", KERNELS)
def test_sizes_that_do_not_fit_are_refused(name):
    given = arguments_of(np.random.default_rng(4), 5)[name]
    for place, array in enumerate(given):
        for axis, count in enumerate(np.shape(array)):
            for other in (0, count - 1, count + 1):
                shape = (*array.shape[:axis], other, *array.shape[axis + 1 :])
                changed = (*given[:place], np.zeros(shape, array.dtype), *given[place + 1 :])
                any_workers = (name[:4], place, axis) == ("add_", 0, 0)
                medians = (name, place, axis, other) == ("estimate_accuracies", 5, 0, 4)
                if any_workers or medians:
                    getattr(_core, name)(*changed)
                else:
                    with pytest.raises(ValueError, match="must"):
                        getattr(_core, name)(*changed)


@pytest.mark.parametrize("name", KERNELS)
def test_arrays_of_other_types_are_never_converted(name):
    given = arguments_of(np.random.default_rng(5), 5)[name]
    for place, array in enumerate(given):
        if isinstance(array, np.ndarray):
            changed = (*given[:place], array.astype(np.float32), *given[place + 1 :])
            with pytest.raises(TypeError):
                getattr(_core, name)(*changed)
