"""Draws of the page's modules in Chromium: distributions by chi-square, losses by audits."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.campaign.mechanisms import LABELS, MECHANISMS
from tests.campaign.web.browser import serve_modules
from tests.campaign.web.in_page import in_page, sent_by_page

import quietcrowd as qc
from quietcrowd.auditing import audit
from quietcrowd.domains import FiniteDomain
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    MatrixFactorization,
    TwoLayerRandomizedResponse,
)
from quietcrowd.mechanisms.channels.base import TOTAL
from quietcrowd.mechanisms.channels.shift import BIT_GRID
from quietcrowd.mechanisms.channels.sketch import profile_sums, second_moments
from quietcrowd.report_domains import OrNull

DRAWS = 60_000
TASKS = ["a", "b", "c"]

FALSE_ALARM = 1e-8
"""Of each comparison; there are fewer than a hundred, and one of all fails once in 10^6."""

CERTAIN = 1 - 1e-8
"""How sure an audit is before it convicts."""

CHOSEN = {
    name: mechanism
    for name, mechanism in MECHANISMS.items()
    if getattr(mechanism, "variant", None) not in ("ridge", "paper")
}


DRAWN_EPSILONS = TwoLayerRandomizedResponse(
    domain=LABELS, epsilon=1.0, distribution="epsilon", missing="category"
)
"""A device computes a table of a thousand weights for each worker: 10 ms."""


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        serve_modules(page)
        yield page


def kinds(*types):
    """Return the names of the mechanisms of some types."""
    return [name for name, one in CHOSEN.items() if isinstance(one, types)]


def ends(domain):
    """Return the lowest and the highest answer."""
    if isinstance(domain, FiniteDomain):
        return domain.labels[0], domain.labels[-1]
    return domain.low, domain.high


def crowd(mechanism, given=None, workers=DRAWS):
    """Return workers with the same answers: the lowest, the highest, and none."""
    given = given or dict(zip(TASKS, (*ends(mechanism.domain), None), strict=True))
    answered = {task: answer for task, answer in given.items() if answer is not None}
    frame = {
        "task": np.repeat([*answered], workers),
        "worker": np.tile(np.arange(workers), len(answered)),
        "label": [answer for answer in answered.values() for _ in range(workers)],
    }
    return qc.Answers.from_frame(
        pd.DataFrame(frame), mechanism.domain, tasks=[*given], workers=range(workers)
    ).canonical


def columns(codes, table):
    """Return the values of each task that is reported, by its name."""
    return {
        task: codes[table.task_codes == place]
        for place, task in enumerate(table.tasks.to_pylist())
        if (table.task_codes == place).any()
    }


def follows(counts, distribution):
    """Return whether counts may come from a distribution; what is rare is taken together."""
    distribution = np.asarray(distribution, float)
    assert math.isclose(distribution.sum(), 1, rel_tol=1e-7)
    expected = counts.sum() * distribution / distribution.sum()
    starts = [0]
    for place in range(1, len(expected)):
        if expected[starts[-1] : place].sum() >= 5 <= expected[place:].sum():
            starts.append(place)
    counts, expected = (np.add.reduceat(part, starts) for part in (counts, expected))
    return stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def noise_follows(numbers, below, scale):
    """Return whether whole numbers may come from a distribution that says P(Z < z)."""
    edges = np.unique(np.rint(scale * np.linspace(-6, 6, 61)).astype(np.int64))
    distribution = np.diff(np.concatenate([[0.0], below(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, numbers, side="right"), minlength=len(distribution))
    return follows(counts, distribution)


def laplace_below(scale):
    """Return P(Z < z) of discrete Laplace noise."""
    ratio = math.exp(-1 / scale)

    def below(places):
        low = np.exp(np.minimum(places - 1, 0) / scale) / (1 + ratio)
        return np.where(places <= 0, low, 1 - np.exp(-np.maximum(places, 0) / scale) / (1 + ratio))

    return below


def filled_below(mechanism):
    """Return P(Z < z) of what is sent on a task that has no answer."""
    below = laplace_below(mechanism.channel.noise.scale)
    places = mechanism.filling_places
    return lambda edges: np.mean([below(edges - place) for place in places], axis=0)


def row_chances(mechanism, code, weights):
    """Return the chances of each report of an answer, for each weight, shape (weights, reports)."""
    size = mechanism.channel.reports
    chances = np.repeat(weights[:, np.newaxis] / TOTAL, size, axis=1)
    chances[:, code] = 1 - (size - 1) * weights / TOTAL
    return chances


@pytest.mark.nightly
@pytest.mark.parametrize("name", kinds(qc.RandomizedResponse, TwoLayerRandomizedResponse))
def test_labels_follow_the_table_and_rows_the_weight_that_a_worker_drew(page, name):
    mechanism = CHOSEN[name]
    sent = sent_by_page(mechanism, crowd(mechanism), page)
    found = columns(sent.table.values, sent.table)
    codes = {"a": 0, "b": mechanism.domain.size - 1}
    if mechanism.every_task:
        assert isinstance(mechanism.report_domain, OrNull)
        codes["c"] = mechanism.report_domain.null_code
    assert found.keys() == codes.keys()
    for task, code in codes.items():
        distribution = mechanism.channel.weights[code] / TOTAL
        assert follows(np.bincount(found[task], minlength=len(distribution)), distribution)
    size = mechanism.channel.reports
    pairs = np.bincount(size * found["a"].astype(int) + found["b"], minlength=size**2)
    if isinstance(mechanism, qc.RandomizedResponse):
        one, other = (mechanism.channel.weights[codes[task]] / TOTAL for task in "ab")
        joint = np.outer(one, other)
    else:
        distribution = mechanism.worker_distribution
        weights = np.array([distribution.at((i + 0.5) / 4096) for i in range(4096)])
        one, other = (row_chances(mechanism, codes[task], weights) for task in "ab")
        joint = one.T @ other / len(weights)
    assert follows(pairs, joint.reshape(-1))


@pytest.mark.nightly
def test_rows_follow_an_epsilon_that_a_worker_drew(page):
    """How many of 20 reports on equal answers agree with them, and likewise where none was given.

    60,000 reports each, of 3,000 workers.
    """
    mechanism, some = DRAWN_EPSILONS, 20
    low, workers = mechanism.domain.labels[0], DRAWS // some
    given = {f"{answer}{place}": answer for answer in (low, None) for place in range(some)}
    sent = sent_by_page(mechanism, crowd(mechanism, given, workers), page).table
    weights = np.array([mechanism.worker_distribution.at((i + 0.5) / 1024) for i in range(1024)])
    kept = 1 - (mechanism.channel.reports - 1) * weights / TOTAL
    distribution = stats.binom.pmf(np.arange(some + 1)[:, np.newaxis], some, kept).mean(axis=1)
    answered = np.array([task.startswith(low) for task in sent.tasks.to_pylist()])
    for there, code in ((True, 0), (False, mechanism.report_domain.null_code)):
        chosen = (answered[sent.task_codes] == there) & (sent.values == code)
        agree = np.bincount(sent.worker_codes[chosen], minlength=workers)
        assert follows(np.bincount(agree, minlength=some + 1), distribution)


@pytest.mark.nightly
@pytest.mark.parametrize("name", kinds(qc.LaplaceMechanism))
def test_numbers_and_participation_bits_follow_their_distributions(page, name):
    mechanism = CHOSEN[name]
    sent = sent_by_page(mechanism, crowd(mechanism), page)
    found = columns(sent.table.values, sent.table)
    scale = mechanism.channel.noise.scale
    for task, place in (("a", 0), ("b", mechanism.grid.steps)):
        assert noise_follows(found[task] - place, laplace_below(scale), scale)
    assert ("c" in found) == mechanism.every_task
    if mechanism.every_task:
        middle = int(np.median(mechanism.filling_places))
        distribution = filled_below(mechanism)
        assert noise_follows(found["c"] - middle, lambda edges: distribution(edges + middle), scale)
    if mechanism.participation is not None:
        noise = mechanism.channel.participation_noise.scale
        bits = columns(sent.participation_codes, sent.table)
        for task, place in (("a", BIT_GRID.steps), ("b", BIT_GRID.steps), ("c", 0)):
            assert noise_follows(bits[task] - place, laplace_below(noise), noise)


@pytest.mark.nightly
@pytest.mark.parametrize("name", kinds(qc.PiecewiseMechanism, DuchiMechanism, HybridMechanism))
def test_bounded_reports_follow_their_weights(page, name):
    mechanism = CHOSEN[name]
    distribution = mechanism.channel.distribution
    sent = sent_by_page(mechanism, crowd(mechanism), page)
    found = columns(sent.table.values, sent.table)
    assert found.keys() == {"a", "b"}
    for task, place in (("a", 0), ("b", distribution.steps)):
        weights = distribution.weights(np.arange(distribution.reports), place)
        assert follows(np.bincount(found[task], minlength=distribution.reports), weights / TOTAL)


@pytest.mark.nightly
@pytest.mark.parametrize("name", kinds(MatrixFactorization))
def test_each_number_of_a_sketch_follows_its_distribution(page, name):
    mechanism = CHOSEN[name]
    answers = crowd(mechanism)
    sent = sent_by_page(mechanism, answers, page).sketches
    assert sent.shape == (DRAWS, mechanism.sketch_length)
    channel = mechanism.channel
    profile = channel.profile.matrix(answers.tasks)
    cells = np.array([[-channel.centre, channel.grid.steps - channel.centre, 0]], np.int32)
    exact, scales = profile_sums(profile, cells)[0], [channel.noise.scale] * mechanism.rank
    if (moment_noise := channel.moment_noise(profile)) is not None:
        moments = second_moments(profile, np.array([[True, True, False]]))[0]
        exact = np.concatenate([exact, moments])
        scales += [moment_noise.scale] * len(moments)
    for number, plain, scale in zip(sent.T, exact, scales, strict=True):
        assert noise_follows(number - plain, laplace_below(scale), scale)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHOSEN)
def test_an_audit_of_the_page_proves_no_more_than_is_stated(page, name):
    """It convicts with a chance of 10^-8. Of labels it proves 0.9 of what is stated and more.

    What it proves of them varies by 0.008 at most, as a standard deviation, and is 0.045 above.
    """
    mechanism = CHOSEN[name]
    labels = name in kinds(qc.RandomizedResponse, TwoLayerRandomizedResponse)
    report = audit(in_page(mechanism, page), 3, CERTAIN, draws=200_000 if labels else 3_000)
    assert not report.simulated
    assert report.holds, str(report)
    assert report.proven_epsilon > (0.9 if labels else 0.0) * report.stated_epsilon


@pytest.mark.nightly
def test_an_audit_of_drawn_epsilons_proves_no_more_than_is_stated(page):
    """It convicts with a chance of 10^-8."""
    assert audit(in_page(DRAWN_EPSILONS, page), 3, CERTAIN, draws=1_000).holds


@pytest.mark.nightly
def test_an_audit_of_a_page_that_draws_too_little_convicts_it(page):
    """Reports are those of a mechanism of three times the loss; never convicted in 10^6 times."""
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
    loud = qc.RandomizedResponse(domain=mechanism.domain, epsilon=3.0)

    class Loud(qc.RandomizedResponse):
        def _randomize(self, answers, rng):  # noqa: ARG002
            sent = sent_by_page(loud, answers, page)
            return qc.Reports(table=sent.table, mechanism=self)

    report = audit(Loud(domain=mechanism.domain, epsilon=1.0), 3, draws=10_000)
    assert report.verdict == "broken"
