"""What sets of labels tell of their workers' accuracies: every bit, and what is refused."""

import math

import numpy as np
import pytest
from scipy.special import softmax
from tests.core.kernels import assert_recorded_bits, outside
from tests.core.test_label_sets import arguments_of as sweep_arguments_of
from tests.core.test_label_sets import changed

from quietcrowd import _core
from quietcrowd.report_domains import sets_with

ONE = 2.0**30


def nodes_of(span):
    """Return where the log-ratio of c and b is counted."""
    return 3.0 * np.sinh(np.linspace(-1.0, 1.0, 17) * math.asinh(span / 3.0))


def arguments_of(rng, labels, members, *, crowds=2, first=0, judged=50, epsilon=1.5, **options):
    """Return the arguments of `set_cavities`."""
    given = sweep_arguments_of(rng, labels, members, last=False, epsilon=epsilon, **options)
    histograms = np.zeros((judged, crowds, 1, 18), np.int64)
    priors, nodes = given.log_priors, nodes_of(epsilon)
    return [given.partition, given.signs, given.workers, priors, nodes, first, histograms]


@pytest.mark.parametrize(
    ("labels", "members"), [(1, 1), (2, 1), (5, 1), (5, 4), (6, 3), (6, 6), (17, 8), (64, 3)]
)
def test_every_bit(labels, members):
    rng = np.random.default_rng(labels)
    for per in (1, 6, 200):
        assert_recorded_bits("set_cavities", *arguments_of(rng, labels, members, per=per))


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 8.0, 30.0])
def test_sets_that_say_next_to_nothing_or_all(epsilon):
    rng = np.random.default_rng(1)
    assert_recorded_bits("set_cavities", *arguments_of(rng, 6, 3, epsilon=epsilon))


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 1},
        {"tasks": 0},
        {"per": 0},
        {"tasks": 4, "per": 5_000},
        {"first": 20, "judged": 7},
        {"first": 49, "judged": 10},
        {"judged": 0},
        {"crowds": 0},
    ],
    ids=str,
)
def test_every_bit_of_unusual_partitions_and_some_workers(options):
    rng = np.random.default_rng(2)
    assert_recorded_bits("set_cavities", *arguments_of(rng, 5, 2, **options))


def test_the_largest_numbers_of_the_state():
    arguments = arguments_of(np.random.default_rng(3), 5, 2)
    workers = arguments[2]
    workers.skills[::3] = workers.constants[::5] = np.iinfo(np.int32).max
    assert_recorded_bits("set_cavities", *arguments)


def test_a_set_is_as_likely_as_its_labels_are_without_it():
    """Of two workers who are never right, only the frequencies of labels tell of each other's."""
    arguments = arguments_of(np.random.default_rng(4), 6, 3, crowds=1, tasks=1, judged=2, workers=2)
    _, signs, workers, priors, nodes, _, histograms = arguments
    workers.skills[:], workers.constants[:] = 0, 0
    signs.mistakes[:] = 0
    arguments[0] = (
        np.array([0, 2]),
        np.array([0, 1], np.uint32),
        np.array([3, 11]),
        np.zeros(1, np.uint64),
        np.full(1, -1, np.int32),
    )
    _core.set_cavities(*arguments)
    inside = (sets_with(np.array([3, 11]), 6, 3) * softmax(priors)).sum(axis=1)
    right, wrong = 1.0 + signs.gain * inside, 1.0 + signs.gain * (3.0 - inside) / 5.0
    found = histograms[:, 0, 0] / ONE
    np.testing.assert_allclose(found[:, :-1].sum(axis=1), 1.0)
    np.testing.assert_allclose(found[:, :-1] @ nodes, np.log(right / wrong), atol=1e-8)
    np.testing.assert_allclose(found[:, -1], np.log(wrong), atol=1e-8)


@outside(51, 20, 6, -1)
def test_what_lies_outside_is_refused(place, value, message):
    arguments = arguments_of(np.random.default_rng(5), 6, 3)
    arguments[0][place][len(arguments[0][place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        _core.set_cavities(*arguments)


@pytest.mark.parametrize("strange", [math.nan, math.inf, -1.0, 0.0])
def test_no_number_leads_outside_of_the_histograms(strange):
    arguments = arguments_of(np.random.default_rng(5), 6, 3)
    changes = [
        (1, arguments[1]._replace(gain=strange)),
        (2, arguments[2]._replace(constant_base=strange)),
        (2, arguments[2]._replace(constant_gain=strange)),
        (3, np.full(6, strange)),
    ]
    for place, value in changes:
        given = [*arguments]
        given[place] = value
        _core.set_cavities(*given)


@pytest.mark.parametrize("place", [3, 4, 6])
def test_sizes_and_types_that_do_not_fit_are_refused(place):
    arguments = arguments_of(np.random.default_rng(6), 6, 3)
    for other, error in changed(arguments[place]):
        if place == 6 and other.shape[2:] == (1, 18):
            continue  # fewer workers, or crowds
        given = [*arguments]
        given[place] = other
        with pytest.raises(error):
            _core.set_cavities(*given)


@pytest.mark.parametrize(("place", "field"), [(1, "binomials"), (1, "mistakes"), (2, "skills")])
def test_tables_that_do_not_fit_are_refused(place, field):
    arguments = arguments_of(np.random.default_rng(7), 6, 3)
    for other, error in changed(getattr(arguments[place], field)):
        if field == "skills" and other.shape[1] == 6 and error is ValueError:
            continue  # fewer workers: the constants of one more do no harm
        given = [*arguments]
        given[place] = arguments[place]._replace(**{field: other})
        with pytest.raises(error):
            _core.set_cavities(*given)
    if field == "skills":
        given[2] = arguments[2]._replace(constants=arguments[2].constants[1:])
        with pytest.raises(ValueError, match="constants"):
            _core.set_cavities(*given)
