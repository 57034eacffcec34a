"""Tables of integer weights and sets of labels: loss and delta over all pairs of answers."""

import math

import attrs
import numpy as np
import pytest
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.auditing import audit
from quietcrowd.auditing.attack import Observed
from quietcrowd.auditing.channels.table import plan_sets, table_delta, table_epsilon, worst_rows
from quietcrowd.mechanisms import SubsetSelection
from quietcrowd.mechanisms.channels import SetChannel
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution
from quietcrowd.report_domains import sets_with

WEIGHTS = np.array([[4, 2, 2], [1, 5, 2], [2, 4, 2]], np.uint64)


def test_the_loss_is_the_largest_ratio_in_a_column():
    assert table_epsilon(WEIGHTS) == pytest.approx(math.log(4))
    assert table_epsilon(np.array([[1, 1], [1, 1]])) == 0.0
    assert table_epsilon(np.array([[2, 0], [1, 1]])) == math.inf


def test_the_loss_tells_neighbouring_integers_apart():
    fair = table_epsilon(np.array([[3 * 2**30, 2**30], [2**30, 3 * 2**30]]))
    more = table_epsilon(np.array([[3 * 2**30 + 1, 2**30 - 1], [2**30 - 1, 3 * 2**30 + 1]]))
    assert fair < more < fair + 1e-8


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_delta_is_the_largest_over_all_pairs(epsilon):
    chances = WEIGHTS / 8
    worst = max(
        sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(one, other, strict=True))
        for one in chances
        for other in chances
    )
    assert table_delta(WEIGHTS, epsilon) == pytest.approx(worst)


def test_the_worst_rows():
    assert worst_rows(WEIGHTS, 3) == (0, 1)
    assert worst_rows(WEIGHTS[1:], 2) == (1, 0)
    assert worst_rows(np.ones((3, 3)), 3) == (0, 1)
    assert worst_rows(WEIGHTS, 1) == (0, 0)


def tables_alike():
    """Return a table whose pairs of rows are all alike, and the same with its columns moved."""
    alike = np.full((7, 7), 3, np.uint64)
    np.fill_diagonal(alike, 14)
    return alike, alike[:, [1, 0, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
def test_pairs_that_are_alike_need_no_second_look(epsilon):
    """Moved columns hide from the short cut that all pairs are alike: both ways must agree."""
    short, long = (table_delta(table, epsilon) for table in tables_alike())
    assert short == long == pytest.approx(max(0.0, (14 - math.exp(epsilon) * 3) / 32))


@pytest.mark.parametrize("place", [(0, 0), (3, 3), (5, 2)])
def test_one_odd_weight_is_not_overlooked(place):
    table, _ = tables_alike()
    table[place] += 1
    table[place[0], 6] -= 1
    worst = max(
        float(np.maximum(one / 32 - math.exp(0.5) * other / 32, 0).sum())
        for one in table.astype(float)
        for other in table.astype(float)
    )
    assert table_delta(table, 0.5) == pytest.approx(worst)


def test_a_thousand_labels_whose_pairs_are_alike_compare_two_rows(monkeypatch):
    """Of two rows of a thousand columns 61 deltas are 244 thousand terms; of all, 61 billion."""
    table = np.full((1000, 1000), 1, np.uint64)
    np.fill_diagonal(table, 1001)
    counted = []
    honest = np.maximum

    def counting(*arguments, **options):
        counted.append(np.size(arguments[0]))
        return honest(*arguments, **options)

    monkeypatch.setattr(np, "maximum", counting)
    assert table_delta(table, 0.5) == pytest.approx((1001 - math.exp(0.5)) / 2000)
    assert sum(counted) <= 4_000


LEVELS = qc.Ordinal(range(6))
MECHANISM = SubsetSelection(domain=LEVELS, epsilon=1.0)


def test_the_exact_loss_and_delta_are_those_of_all_sets():
    distribution = MECHANISM.channel.sets
    plan = plan_sets(distribution, answers=3)
    logs = distribution.log_likelihood(np.arange(distribution.count), np.arange(6)[:, np.newaxis])
    assert plan.exact.epsilon == pytest.approx(np.ptp(logs, axis=0).max())
    assert plan.exact.total_epsilon == pytest.approx(3 * plan.exact.epsilon)
    for epsilon in (0.0, 0.4, 1.1):
        one, other = np.exp(logs[:2])
        expected = np.maximum(0.0, one - math.exp(epsilon) * other).sum()
        assert plan.exact.delta_at(epsilon) == pytest.approx(expected)
    both = (np.exp(logs[0]) ** 2).sum()
    assert plan.collisions.chance(2) == pytest.approx(both**2)


def test_the_score_is_the_log_ratio_of_the_two_answers():
    distribution = MECHANISM.channel.sets
    [attack, *_] = plan_sets(distribution, answers=1).attacks
    reports = np.arange(distribution.count)
    logs = distribution.log_likelihood(reports, np.array([[0], [1]]))
    cells = np.append(reports, [distribution.count, np.nan]).astype(np.float64)[:, np.newaxis]
    scores = attack.score(Observed(cells=cells, bits=None, sketches=None, counts=np.ones(0)))
    assert scores[:-2] == pytest.approx(logs[0] - logs[1], abs=1e-12)
    assert np.isnan(scores[-2:]).all()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("labels", "epsilon"), [nightly(20, 1.0), nightly(20, 4.0), (5, 2.0)])
def test_reports_prove_nine_tenths_of_the_loss(labels, epsilon):
    """The seed is fixed. Of other seeds the share is .93 to .98."""
    mechanism = SubsetSelection(domain=qc.Ordinal(range(labels)), epsilon=epsilon)
    report = audit(mechanism, 1, draws=100_000, random_state=3)
    assert report.holds
    assert report.exact_epsilon == report.stated_epsilon
    assert report.proven_epsilon >= 0.9 * report.stated_epsilon


@attrs.frozen(kw_only=True, slots=False)
class HoldsTheAnswerTooOften(SubsetSelection):
    """Draws by the weights of a larger epsilon."""

    def randomize_tasks(self, answers, drawn, rng):
        more = SubsetSelection(domain=self.domain, epsilon=self.epsilon + 1.0, set_size=2)
        made = more.randomize_tasks(answers, drawn, rng)
        return attrs.evolve(made, mechanism=self)


@pytest.mark.slow
def test_who_holds_the_answer_too_often_is_convicted():
    broken = HoldsTheAnswerTooOften(domain=LEVELS, epsilon=1.0, set_size=2)
    report = audit(broken, 1, draws=50_000, random_state=1)
    assert not report.holds
    assert report.proven_epsilon > 1.5


def test_held_labels_are_those_of_the_set():
    distribution = SetDistribution(labels=6, members=3, inside=2, outside=1)
    held = sets_with(np.arange(distribution.count), 6, 3)
    assert held.sum(axis=1).tolist() == [3] * distribution.count
    assert SetChannel(distribution=distribution).sets is distribution
