"""Mechanisms broken on purpose: each is caught, by what it sends or by its table."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from tests.auditing.audits import audited
from tests.nightly import nightly

from quietcrowd import Categorical, Interval, LaplaceMechanism, Ordinal, RandomizedResponse
from quietcrowd.auditing import audit
from quietcrowd.auditing.audits import plan_audit
from quietcrowd.exceptions import AnswerError
from quietcrowd.mechanisms import MatrixFactorization, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels.base import TOTAL
from quietcrowd.mechanisms.channels.noise import DiscreteLaplace
from quietcrowd.mechanisms.channels.shift import BIT_GRID
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.taskwise import dense_table
from quietcrowd.privacy.rounding import exp_of

LABELS = Categorical(["no", "yes"])
LEVELS = Ordinal(range(5))
NUMBERS = Interval(low=0, high=10)
DRAWS = 20_000
OF_TWO = ("two reports", "the difference", "the sum")
"""How the names of statistics begin that look at two reports of a worker."""


def halve_noise(monkeypatch):
    """Let every sampler of Laplace noise use half of its scale."""
    honest = DiscreteLaplace.draw
    monkeypatch.setattr(
        DiscreteLaplace,
        "draw",
        lambda self, count, words: honest(DiscreteLaplace(scale=self.scale / 2), count, words),
    )


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        LaplaceMechanism(domain=LEVELS, epsilon=1.0),
        nightly(LaplaceMechanism(domain=NUMBERS, epsilon=1.0, participation="released")),
        nightly(MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=1)),
        MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=4),
        nightly(MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=2, variant="ridge")),
    ],
    ids=lambda mechanism: f"{mechanism.name}-{getattr(mechanism, 'variant', '')}",
)
def test_half_of_the_noise_is_caught(monkeypatch, mechanism):
    halve_noise(monkeypatch)
    report = audit(mechanism, 1, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 1.2 > report.stated_epsilon
    assert report.proven_delta > 0
    assert "BROKEN" in str(report)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RandomizedResponse, nightly(TwoLayerRandomizedResponse)])
def test_null_that_is_skipped_is_caught(kind):
    """Answers are randomised as they should be; NULL is sent as it is."""

    class Skipping(kind):
        def _randomize(self, answers, rng):
            reports = super()._randomize(answers, rng)
            cells = reports.table.values.reshape(len(answers.tasks), len(answers.workers)).copy()
            answered = np.zeros(cells.shape, bool)
            answered[answers.task_codes, answers.worker_codes] = True
            cells[~answered] = self.domain.size
            return evolve(reports, table=dense_table(answers, self.report_domain, cells))

    distribution = {} if kind is RandomizedResponse else {"distribution": "epsilon"}
    mechanism = Skipping(domain=LABELS, epsilon=1.0, missing="category", **distribution)
    report = audit(mechanism, 2, draws=DRAWS)
    assert report.attack == "an answer against none"
    assert report.exact_epsilon <= report.stated_epsilon * (1 + 1e-9), "its table is in order"
    assert report.proven_epsilon > report.stated_epsilon
    assert report.verdict == "broken"


@pytest.mark.slow
def test_fillings_without_noise_are_caught():
    class Quiet(LaplaceMechanism):
        def _with_noise(self, places, rng):
            noisy = super()._with_noise(places, rng)
            return np.where(places == self.grid.middle, places, noisy).astype(noisy.dtype)

    report = audit(Quiet(domain=NUMBERS, epsilon=1.0, fill="midpoint"), 1, draws=DRAWS)
    assert report.attack == "an answer against none"
    assert report.verdict == "broken"


class RoundedDown(RandomizedResponse):
    """Rounds the weight of other labels down: towards less noise, by less than 2^-32."""

    @property
    def other_weight(self):
        exact = TOTAL / (self.size - 1 + exp_of(Decimal(self.epsilon)))
        return int(exact.to_integral_value("ROUND_FLOOR"))

    def guarantee(self, answers=1, tasks=None):
        stated = super().guarantee(answers, tasks)
        return evolve(stated, epsilon=self.epsilon, total_epsilon=answers * self.epsilon)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("domain", [LABELS, nightly(LEVELS)])
@pytest.mark.parametrize("epsilon", [nightly(0.5), 1.0, nightly(3.0)])
def test_weights_rounded_the_wrong_way_are_caught(domain, epsilon):
    """No number of samples could tell; the table of integers does, to the last of them."""
    report = audit(RoundedDown(domain=domain, epsilon=epsilon), 3, draws=1000)
    assert epsilon < report.exact_epsilon < epsilon + 1e-6
    assert report.exact_total_epsilon > 3 * epsilon
    assert report.verdict == "broken"
    honest = audited(RandomizedResponse(domain=domain, epsilon=epsilon), 3, draws=1000)
    assert honest.exact_epsilon <= epsilon
    assert honest.verdict == "holds"


@pytest.mark.slow
def test_a_table_that_is_not_the_one_sampled_from_is_caught():
    words = np.random.default_rng(1)  # one for all devices: those of equal words would be alike

    class Swapped(RandomizedResponse):
        def _randomize(self, answers, rng):
            other = TableChannel.randomized_response(2, TOTAL // 8)
            honest = super()._randomize(answers, rng)
            drawn = other.sample(
                answers.values, lambda n: words.integers(0, 2**32, n, dtype=np.uint32)
            )
            return evolve(honest, table=answers.with_values(self.report_domain, drawn))

    report = audit(Swapped(domain=LABELS, epsilon=1.0), 1, draws=DRAWS)
    assert report.exact_epsilon <= 1.0
    assert 1.5 < report.proven_epsilon <= math.log(7)
    assert report.verdict == "broken"


@pytest.mark.slow
def test_an_informative_report_where_nothing_should_be_told_is_caught():
    class Telling(RandomizedResponse):
        def _randomize(self, answers, rng):
            reports = super()._randomize(answers, rng)
            return evolve(reports, table=answers)

    report = audit(Telling(domain=LABELS, epsilon=0.0), 1, draws=1000)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 3


@pytest.mark.nightly
@pytest.mark.slow
def test_a_guarantee_that_states_too_little_for_many_answers_is_caught():
    """As printed: the claim of Theorem 6.3 whatever the number of answers."""

    class AsPrinted(TwoLayerRandomizedResponse):
        def guarantee(self, answers=1, tasks=None):
            stated = super().guarantee(answers, tasks)
            return evolve(stated, epsilon=self.claimed_epsilon)

    mechanism = AsPrinted(domain=LABELS, low=0.0, high=2 / (1 + math.e))
    report = audit(mechanism, 26, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.exact_epsilon > 3
    assert report.proven_epsilon > 1.5


def one_word(kind, **parameters):
    """Return a mechanism that draws one random word for all of a worker's tasks."""

    class OneWord(kind):
        def _randomize(self, answers, rng):
            honest = super()._randomize(answers, rng)
            words = np.random.default_rng().integers(0, 2**32, len(answers.workers), np.uint32)
            rows = answers.values.reshape(len(answers.tasks), -1)
            drawn = [self.channel.sample(row, lambda _: words) for row in rows]
            table = answers.with_values(self.report_domain, np.concatenate(drawn))
            return evolve(honest, table=table)

    return OneWord(**parameters)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("n", [2, nightly(3), nightly(50)])
@pytest.mark.parametrize("domain", [LABELS, nightly(LEVELS), Ordinal(range(20))])
def test_a_random_word_that_serves_all_tasks_is_caught(domain, n):
    """Each report is as it should be; together they tell whether their answers are the same.

    Of two reports one row alone shows it. A third one, of the other answer, shows it under the
    other row, too: all reports that are counted together then prove twice as much.
    """
    report = audit(one_word(RandomizedResponse, domain=domain, epsilon=1.0), n, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 3
    if n == 2:
        assert report.statistic.startswith(OF_TWO)
    else:
        assert report.statistic == "how many reports are answers as they are"


@pytest.mark.slow
@pytest.mark.parametrize("n", [nightly(2), 3, nightly(50)])
@pytest.mark.parametrize("domain", [LABELS, nightly(LEVELS), nightly(Ordinal(range(20)))])
def test_two_reports_of_one_random_word_are_enough(monkeypatch, domain, n):
    """The audit catches it as well where nothing looks at more than two reports of a worker."""

    def without_counts(mechanism, answers):
        plan = plan_audit(mechanism, answers)
        return evolve(plan, attacks=[evolve(attack, plain=None) for attack in plan.attacks])

    monkeypatch.setattr("quietcrowd.auditing.audits.plan_audit", without_counts)
    report = audit(one_word(RandomizedResponse, domain=domain, epsilon=1.0), n, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 3
    assert report.statistic.startswith(OF_TWO)


@pytest.mark.nightly
@pytest.mark.slow
def test_one_answer_alone_has_no_other_to_share_a_word_with():
    """Its loss is as stated; but devices asked about many tasks show what they would do."""
    report = audited(one_word(RandomizedResponse, domain=LABELS, epsilon=1.0), 1, draws=DRAWS)
    assert report.proven_epsilon <= report.proven_total_epsilon <= report.stated_epsilon
    assert report.devices.reused
    assert report.verdict == "broken"


@pytest.mark.nightly
def test_a_random_word_that_serves_all_tasks_of_two_layers_is_caught():
    mechanism = one_word(TwoLayerRandomizedResponse, domain=LABELS, low=0.2, high=0.4)
    report = audit(mechanism, 20, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 3 > report.stated_epsilon


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    "distribution",
    [{"fill": None}, nightly({"fill": "midpoint"}), {"participation": "released"}],
    ids=str,
)
def test_noise_that_serves_all_tasks_is_caught(distribution):
    """The difference of two reports is that of the answers, exactly."""

    workers = []

    class OneNoise(LaplaceMechanism):
        def randomize_tasks(self, answers, drawn, rng):
            workers.append(len(answers.workers))
            return super().randomize_tasks(answers, drawn, rng)

        def _with_noise(self, places, rng):
            noisy = super()._with_noise(places, rng).astype(np.int64)
            if places.ndim == 1:  # by task, then by worker
                noise, rows = noisy - places, workers[-1]
                noisy = places + np.tile(noise[:rows], len(places) // rows)
            else:
                noisy = places + (noisy - places)[:, :1]
            return noisy.astype(self.report_domain.dtype)

    report = audit(OneNoise(domain=NUMBERS, epsilon=1.0, **distribution), 3, draws=2_000)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 3
    assert report.proven_delta > 0.5


@pytest.mark.nightly
@pytest.mark.slow
def test_noise_that_serves_all_bits_is_caught():
    class OneBitNoise(LaplaceMechanism):
        def _noisy_bits(self, answered, rng):
            noisy = super()._noisy_bits(answered, rng)
            noise = noisy.astype(np.int64) - BIT_GRID.steps * answered
            return (BIT_GRID.steps * answered + noise[:, :1]).astype(noisy.dtype)

    mechanism = OneBitNoise(domain=NUMBERS, epsilon=1.0, participation="released")
    report = audit(mechanism, 2, draws=2_000)
    assert (report.verdict, report.attack) == ("broken", "an answer against none")
    assert report.proven_epsilon > 3


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("variant", ["fill", "ridge"])
def test_noise_that_serves_all_coordinates_is_caught(monkeypatch, variant):
    honest = DiscreteLaplace.draw

    def once_a_worker(self, count, words):
        return np.repeat(honest(self, count // 4, words), 4)

    monkeypatch.setattr(DiscreteLaplace, "draw", once_a_worker)
    mechanism = MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=4, variant=variant)
    report = audit(mechanism, 3, draws=4_000)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 3


def table_of(reports, rows, tasks=None):
    """Return a table with some rows of reports, as often as they are listed."""
    table = reports.table
    rows = np.sort(rows)
    ids = table.tasks if tasks is None else tasks
    ends = np.searchsorted(table.task_codes[rows], np.arange(len(ids) + 1))
    return evolve(
        table,
        tasks=ids,
        offsets=ends,
        worker_codes=table.worker_codes[rows],
        values=table.values[rows],
    )


class Counting(RandomizedResponse):
    """How many rows of its table leave depends on the answer; a subclass says which."""

    def _randomize(self, answers, rng):
        reports = super()._randomize(answers, rng)
        telling = (answers.values == 1) & (np.random.default_rng().random(len(answers)) < 0.3)
        return evolve(reports, table=self.leaving(reports, telling))


@pytest.mark.slow
@pytest.mark.parametrize("n", [nightly(1), 3])
def test_reports_that_are_dropped_are_caught(n):
    """No report is none of the labels: dropped where it would say so, "yes" says more."""

    class Dropping(Counting):
        def leaving(self, reports, telling):
            return table_of(reports, np.flatnonzero(~(telling & (reports.table.values == 1))))

    report = audit(Dropping(domain=LABELS, epsilon=1.0), n, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 3


@pytest.mark.slow
def test_a_report_that_comes_twice_is_caught():
    class Repeating(Counting):
        def leaving(self, reports, telling):
            rows = np.arange(len(reports.table))
            return table_of(reports, np.concatenate([rows, rows[telling]]))

    report = audit(Repeating(domain=LABELS, epsilon=1.0), 1, draws=DRAWS)
    assert (report.verdict, report.statistic) == ("broken", "how many reports there are")


@pytest.mark.slow
def test_a_report_on_another_task_is_caught():
    class Straying(Counting):
        def leaving(self, reports, telling):
            ids = pa.array([*range(len(reports.table.tasks)), 10_000])
            table = table_of(reports, np.arange(len(reports.table)), tasks=ids)
            more = np.flatnonzero(telling)
            return evolve(
                table,
                offsets=[*table.offsets[:-1], len(table) + len(more)],
                worker_codes=np.concatenate([table.worker_codes, table.worker_codes[more]]),
                values=np.concatenate([table.values, table.values[more]]),
            )

    report = audit(Straying(domain=LABELS, epsilon=1.0), 1, draws=DRAWS)
    assert (report.verdict, report.statistic) == ("broken", "how many reports there are")


@pytest.mark.nightly
@pytest.mark.slow
def test_workers_who_are_left_out_are_caught():
    class Choosy(Counting):
        def leaving(self, reports, telling):
            table, tasks = reports.table, len(reports.table.tasks)
            kept = np.flatnonzero(~telling.reshape(tasks, -1).any(axis=0))
            return evolve(
                table,
                workers=table.workers.take(pa.array(kept)),
                offsets=np.arange(tasks + 1) * len(kept),
                worker_codes=np.tile(np.arange(len(kept)), tasks),
                values=table.values.reshape(tasks, -1)[:, kept].reshape(-1),
            )

    report = audit(Choosy(domain=LABELS, epsilon=1.0), 1, draws=DRAWS)
    assert report.verdict == "broken"


def test_workers_whom_nobody_asked_are_an_error():
    class Renaming(RandomizedResponse):
        def _randomize(self, answers, rng):
            reports = super()._randomize(answers, rng)
            names = pa.array(np.arange(len(answers.workers)) + 5)
            return evolve(reports, table=evolve(reports.table, workers=names))

    with pytest.raises(AnswerError, match="worker 1000 reports, but the 1,000 workers"):
        audit(Renaming(domain=LABELS, epsilon=1.0), 1, draws=1000)


def test_sketches_of_another_length_are_an_error():
    class Short(MatrixFactorization):
        def _randomize(self, answers, rng):
            reports = super()._randomize(answers, rng)
            return evolve(reports, sketches=reports.sketches[:, :1])

    with pytest.raises(AnswerError, match="a sketch of 2 numbers; got 1"):
        audit(Short(domain=NUMBERS, epsilon=1.0, rank=2), 1, draws=100)


def with_noise(change):
    """Return a mechanism whose noise at the highest answer is changed."""

    class Changed(LaplaceMechanism):
        def _with_noise(self, places, rng):
            noisy = super()._with_noise(places, rng)
            high = places == self.grid.steps
            return np.where(high, change(noisy, places), noisy).astype(noisy.dtype)

    return Changed(domain=NUMBERS, epsilon=1.0, fill=None)


@pytest.mark.nightly
@pytest.mark.slow
def test_noise_whose_scale_depends_on_the_answer_is_caught():
    """Three times the noise is more than enough, but not at one answer alone."""
    mechanism = with_noise(lambda noisy, places: places + 3 * (noisy - places))
    report = audit(mechanism, 1, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.statistic != "the public distribution"


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("multiple", [2, 64])
def test_numbers_that_one_answer_never_gives_are_caught(multiple):
    """Whole multiples of a few steps; one step beside them stands for them."""
    mechanism = with_noise(lambda noisy, _: noisy + (noisy % multiple == 0))
    report = audit(mechanism, 1, draws=50_000)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 1.5
    assert report.statistic in ("the last bits of a report", "the powers of two in a report")


@pytest.mark.nightly
@pytest.mark.slow
def test_an_answer_that_is_sent_as_it_is_now_and_then_is_caught():
    def plain(noisy, places):
        return np.where(np.random.default_rng().random(len(places)) < 0.02, places, noisy)

    report = audit(with_noise(plain), 1, draws=50_000)
    assert report.verdict == "broken"
    # Which of the two proves more is chance: each sees the answers among the reports.
    assert report.statistic in (
        "how often each report occurs",
        "how many reports are answers as they are",
    )
