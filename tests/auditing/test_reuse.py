"""Randomness that is used again, by devices or by tasks, and workers who send raw: all caught.

Audits at their defaults, but for how many answers a worker gives where that is said. What is
claimed of a mechanism that is broken holds with certainty but for chances far below 10^-6.
"""

from itertools import starmap

import numpy as np
import pytest
from attrs import evolve
from tests.auditing.audits import audited
from tests.nightly import nightly

from quietcrowd import Categorical, Interval, LaplaceMechanism, RandomizedResponse
from quietcrowd.auditing import audit
from quietcrowd.auditing.attack import Collisions
from quietcrowd.auditing.audits import plan_audit
from quietcrowd.auditing.reuse import compare_devices
from quietcrowd.mechanisms import MatrixFactorization, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels.noise import DiscreteLaplace
from quietcrowd.mechanisms.channels.shift import BIT_GRID
from quietcrowd.mechanisms.taskwise import dense_table

LABELS = Categorical(["no", "yes"])
NUMBERS = Interval(low=0, high=10)

KINDS = [
    (RandomizedResponse, {"domain": LABELS}),
    (RandomizedResponse, {"domain": LABELS, "missing": "category"}),
    (TwoLayerRandomizedResponse, {"domain": LABELS}),
    (LaplaceMechanism, {"domain": NUMBERS}),
    (LaplaceMechanism, {"domain": NUMBERS, "fill": None}),
    (MatrixFactorization, {"domain": NUMBERS, "rank": 4}),
    (MatrixFactorization, {"domain": NUMBERS, "rank": 4, "variant": "ridge"}),
    (MatrixFactorization, {"domain": NUMBERS, "rank": 2, "variant": "statistics"}),
]

BY_DAY = [KINDS[0], *map(nightly, KINDS[1:4]), KINDS[4], *map(nightly, KINDS[5:])]
"""All of them at night."""


def made(kind, parameters, epsilon, randomize=None):
    """Return a mechanism; of a subclass with another `_randomize`, if one is given."""
    if randomize is not None:
        kind = type(f"Broken{kind.__name__}", (kind,), {"_randomize": randomize(kind)})
    return kind.from_claimed_epsilon(epsilon=epsilon, **parameters)


def title(case):
    if isinstance(case, tuple):
        return "-".join([case[0].name, *(str(case[1][key]) for key in case[1] if key != "domain")])
    return str(case)


def one_seed(kind):
    """Every call draws the same numbers, whoever the devices are."""
    return lambda self, answers, _: kind._randomize(self, answers, np.random.default_rng(1))


def one_noise_for_all(kind):
    """All workers of a call have the randomness of the first; calls differ."""

    def randomize(self, answers, rng):
        del rng
        seed = np.random.SeedSequence().entropy
        parts = [
            kind._randomize(self, one_worker(answers, worker), np.random.default_rng(seed))
            for worker in range(len(answers.workers))
        ]
        return joined(self, answers, parts)

    return randomize


def seed_of_the_worker(kind):
    """A device draws the same numbers whenever it is asked."""

    def randomize(self, answers, rng):
        del rng
        parts = [
            kind._randomize(self, one_worker(answers, worker), np.random.default_rng(seed))
            for worker, seed in enumerate(answers.workers.to_pylist())
        ]
        return joined(self, answers, parts)

    return randomize


def few_seeds(kind):
    """A device has one of 10,000 seeds."""

    def randomize(self, answers, rng):
        del rng
        seeds = np.random.default_rng().integers(0, 10_000, len(answers.workers))
        parts = [
            kind._randomize(self, one_worker(answers, worker), np.random.default_rng(seed))
            for worker, seed in enumerate(seeds)
        ]
        return joined(self, answers, parts)

    return randomize


def one_worker(answers, worker):
    kept = answers.worker_codes == worker
    ends = np.searchsorted(answers.task_codes[kept], np.arange(len(answers.tasks) + 1))
    return evolve(
        answers,
        workers=answers.workers.slice(worker, 1),
        offsets=ends,
        worker_codes=np.zeros(kept.sum(), np.int32),
        values=answers.values[kept],
    )


def joined(mechanism, answers, parts):
    """Return the reports of single workers, on the same tasks each, as those of one call."""
    values = np.stack([part.table.values for part in parts], axis=1)
    table = dense_table(answers, mechanism.report_domain, values)
    sketches = [part.sketches for part in parts if part.sketches is not None]
    return evolve(parts[0], table=table, sketches=np.concatenate(sketches) if sketches else None)


def devices_of(mechanism, n=20):
    plan = plan_audit(mechanism, n)
    return compare_devices(mechanism, plan.collisions, 5e-5, None)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize("case", BY_DAY, ids=title)
def test_one_seed_for_all_devices_is_caught(case, epsilon):
    """Each report is of the right distribution; two devices, or two runs, give the same ones."""
    found = devices_of(made(*case, epsilon, one_seed))
    assert found.reused
    assert found.surprise < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, nightly(20)])
def test_an_audit_convicts_one_seed(n):
    mechanism = made(RandomizedResponse, {"domain": LABELS}, 1.0, one_seed)
    report = audit(mechanism, n)
    assert report.verdict == "broken"
    assert report.devices.surprise < 1e-6
    assert "BROKEN; randomness is missing, or used more than once" in str(report)
    assert report.to_dict()["devices"]["randomness_reused"] is True


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("fault", [one_noise_for_all, seed_of_the_worker])
@pytest.mark.parametrize(
    "case", [KINDS[4], *map(nightly, [KINDS[0], KINDS[2], KINDS[6]])], ids=title
)
def test_seeds_that_some_devices_share_are_caught(case, fault):
    assert devices_of(made(*case, 1.0, fault)).reused


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("case", [KINDS[0], *map(nightly, [KINDS[4], KINDS[5]])], ids=title)
def test_devices_with_one_of_a_few_seeds_are_caught(case):
    """Not those of two layers from 0 up, whose rows are equal too often: see the page audit.md."""
    assert devices_of(made(*case, 1.0, few_seeds)).reused


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 8.0])
@pytest.mark.parametrize("case", BY_DAY, ids=title)
def test_independent_devices_are_not(case, epsilon):
    """Each is convicted by chance once in 20,000 times at most, and twice once in 4 x 10^8."""
    mechanism = made(*case, epsilon)
    assert not (devices_of(mechanism).reused and devices_of(mechanism).reused)


@pytest.mark.slow
def test_equal_messages_are_judged_by_the_distribution():
    """A fifth of the risk goes to each count; a message that is always the same tells nothing."""
    mechanism = RandomizedResponse(domain=LABELS, epsilon=0.0)
    constant = compare_devices(mechanism, Collisions(answer=0, chance=lambda _: 1.0), 1e-4, None)
    assert (constant.surprise, constant.reused) == (1.0, False)
    rng = np.random.default_rng(1)
    half = Collisions(answer=0, chance=lambda _: 0.5)
    short = compare_devices(mechanism, evolve(half, tasks=1000), 1e-4, rng)
    assert (short.equal_pairs, short.surprise, short.messages) == (0, 1.0, 2_200)


def raw(share):
    """A share of the workers send what they have, all of it; the others are honest."""

    def of(kind):
        def randomize(self, answers, rng):
            honest = kind._randomize(self, answers, rng)
            open_ = np.random.default_rng().random(len(answers.workers)) < share
            if hasattr(self.channel, "grid"):
                plain = self.channel.grid.places(self.domain.numbers(answers.values))
            else:
                plain = answers.values
            table = honest.table.values.copy()
            cells = table.reshape(len(answers.tasks), -1)
            mine = np.flatnonzero(open_[answers.worker_codes])
            cells[answers.task_codes[mine], answers.worker_codes[mine]] = plain[mine]
            return evolve(honest, table=evolve(honest.table, values=table))

        return randomize

    return of


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("case", [KINDS[0], nightly(KINDS[1])], ids=title)
def test_one_worker_in_a_hundred_who_sends_raw_is_caught(case):
    report = audit(made(*case, 1.0, raw(0.01)))
    assert report.verdict == "broken"
    assert report.proven_epsilon > 1.2 > report.stated_epsilon


@pytest.mark.nightly
@pytest.mark.parametrize("case", KINDS[3:5], ids=title)
def test_one_worker_in_a_hundred_whose_noise_is_missing_is_caught(case):
    report = audit(made(*case, 1.0, raw(0.01)))
    assert report.verdict == "broken"
    assert report.proven_epsilon > 1.2


@pytest.mark.nightly
def test_raw_workers_among_two_layers_are_caught_where_the_distribution_has_none():
    """From 0 up, the distribution has workers who almost never flip: see research/docs/audit.md."""
    parameters = {"domain": LABELS, "low": 0.2, "high": 0.4}
    kind = type("Broken", (TwoLayerRandomizedResponse,), {"_randomize": raw(0.01)(KINDS[2][0])})
    report = audit(kind(**parameters))
    assert report.verdict == "broken"
    assert report.proven_epsilon > 2 > report.stated_epsilon


@pytest.mark.nightly
@pytest.mark.parametrize("variant", ["fill", "ridge"])
def test_sketches_that_are_sent_raw_are_caught(monkeypatch, variant):
    honest = DiscreteLaplace.draw

    def quiet(self, count, words):
        noise = honest(self, count, words).reshape(-1, 4)
        open_ = np.random.default_rng().random(len(noise)) < 0.01
        return np.where(open_[:, np.newaxis], 0, noise).reshape(-1)

    monkeypatch.setattr(DiscreteLaplace, "draw", quiet)
    report = audit(MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=4, variant=variant))
    assert report.verdict == "broken"
    assert report.proven_epsilon > 1.5


@pytest.mark.nightly
def test_raw_rows_exceed_what_is_stated_of_a_worker():
    """Five answers of epsilon 0.2: a row of an honest worker tells at most 1."""
    mechanism = made(LaplaceMechanism, {"domain": NUMBERS, "fill": None}, 0.2, raw(0.01))
    report = audit(mechanism, 5, draws=50_000)
    assert report.guarantee.total_epsilon == pytest.approx(1.0)
    assert report.proven_total_epsilon > 2
    assert report.verdict == "broken"
    assert report.to_dict()["proven"]["total_epsilon"] == report.proven_total_epsilon
    assert f"and at least {report.proven_total_epsilon:.3f} about all" in " ".join(
        str(report).split()
    )


@pytest.mark.nightly
def test_what_is_stated_of_a_worker_is_put_to_the_test():
    """Nothing but `total_epsilon` is wrong here: as if answers did not add up."""

    class Modest(RandomizedResponse):
        def guarantee(self, answers=1, tasks=None):
            return evolve(super().guarantee(answers, tasks), total_epsilon=self.channel.epsilon)

    report = audit(Modest(domain=LABELS, epsilon=1.0))
    assert report.proven_total_epsilon > 4
    assert report.proven_epsilon <= report.stated_epsilon
    assert report.verdict == "broken"


def reused(first, second):
    """The report on one task has the noise of that on another one."""

    def of(kind):
        def randomize(self, answers, rng):
            words = rng or np.random.default_rng()
            honest = kind._randomize(self, answers, words)
            cells = honest.table.values.reshape(len(answers.tasks), -1).copy()
            if hasattr(self.channel, "grid"):
                places = np.zeros(cells.shape, np.int64)
                numbers = self.channel.grid.places(self.domain.numbers(answers.values))
                places[answers.task_codes, answers.worker_codes] = numbers
                if len(cells) > second:
                    cells[second] = places[second] + cells[first] - places[first]
            elif len(cells) > second:
                codes = np.zeros(cells.shape, np.int64)
                codes[answers.task_codes, answers.worker_codes] = answers.values
                words = words.integers(0, 2**32, cells.shape[1], np.uint32)
                for task in (first, second):
                    cells[task] = self.channel.sample(codes[task], lambda _: words)
            return evolve(honest, table=evolve(honest.table, values=cells.reshape(-1)))

        return randomize

    return of


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"), [(0, 19), *starmap(nightly, [(1, 2), (7, 13), (11, 12)])]
)
@pytest.mark.parametrize("case", [KINDS[0], *map(nightly, [KINDS[2], KINDS[4]])], ids=title)
def test_noise_that_serves_any_two_tasks_is_caught(case, first, second):
    report = audit(made(*case, 1.0, reused(first, second)), draws=30_000)
    assert report.verdict == "broken"
    assert report.proven_epsilon > report.stated_epsilon


@pytest.mark.nightly
def test_noise_that_serves_the_bits_of_any_two_tasks_is_caught():
    class OneBitNoise(LaplaceMechanism):
        def _noisy_bits(self, answered, rng):
            noisy = super()._noisy_bits(answered, rng)
            noise = noisy.astype(np.int64) - BIT_GRID.steps * answered
            if noise.shape[1] > 13:
                noise[:, 13] = noise[:, 7]
            return (BIT_GRID.steps * answered + noise).astype(noisy.dtype)

    mechanism = OneBitNoise(domain=NUMBERS, epsilon=1.0, participation="released")
    report = audit(mechanism, draws=5_000)
    assert (report.verdict, report.attack) == ("broken", "an answer against none, in a whole row")


@pytest.mark.nightly
def test_two_tasks_among_five_hundred_are_found():
    mechanism = made(*KINDS[0], 1.0, reused(123, 456))
    report = audit(mechanism, 500)
    assert report.verdict == "broken"
    assert report.attack == "one answer against another, in a whole row"


@pytest.mark.nightly
@pytest.mark.parametrize(("first", "second"), [(2, 5), *starmap(nightly, [(0, 7), (6, 7)])])
def test_noise_that_serves_any_two_coordinates_is_caught(monkeypatch, first, second):
    honest = DiscreteLaplace.draw

    def twice(self, count, words):
        noise = honest(self, count, words).reshape(-1, 8)
        noise[:, second] = noise[:, first]
        return noise.reshape(-1)

    monkeypatch.setattr(DiscreteLaplace, "draw", twice)
    report = audit(MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=8), draws=20_000)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 2


@pytest.mark.nightly
def test_a_device_that_is_called_by_itself_is_looked_at():
    """Batches are honest; a single device, which is what a worker has, sends its answer."""

    def randomize(kind):
        def of_one(self, answers, rng):
            reports = kind._randomize(self, answers, rng)
            return reports if len(answers.workers) > 1 else evolve(reports, table=answers)

        return of_one

    report = audit(made(*KINDS[0], 1.0, randomize))
    assert report.verdict == "broken"
    assert report.attack == "one answer against another, each device separately"
    assert report.proven_epsilon > 1.5


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("case", BY_DAY, ids=title)
def test_honest_mechanisms_hold(case):
    assert audited(made(*case, 1.0), 20, draws=3_000).holds
