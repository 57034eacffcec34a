"""Conformance checks of mechanisms."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from quietcrowd.answers import Answers, DroppedRows
from quietcrowd.domains import Domain, FiniteDomain, Interval
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL, BoundedDistribution
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.noise import Noise, Shift
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution
from quietcrowd.mechanisms.channels.sketch import UNIT, upper_triangle
from quietcrowd.mechanisms.matrix_factorization import MatrixFactorization
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.privacy.binomial import at_least, at_most
from quietcrowd.report_domains import OrNull, sets_with

SEED = 20_180_819
_ORIGIN = np.zeros(1, np.int64)
_FEW_SETS = 2**12
RISK = 1e-9
"""Largest probability that the counts of one comparison reject a correct mechanism."""


def check_mechanism(mechanism: Mechanism) -> None:
    """Check that a mechanism conforms to its description; raise `AssertionError` if not.

    * Reports contain the given (task, worker) pairs, or all if every worker reports every task.
      Their order depends only on ids.
    * Reports follow the channel, are in the report domain, and repeat with a fixed generator.
    * The dtype does not depend on the answers.
    * A worker without answers, a single answer, and a crowd without answers are valid.
    * The stated epsilon equals that of the channel, or may be less if there is a delta.
      Guarantees grow with the number of answers.
    * A registered mechanism survives a round trip through JSON.
    """
    answers = _answers_in(mechanism.domain, rows=240)
    reports = mechanism.randomize(answers)
    again = [mechanism.simulate(answers, random_state=SEED) for _ in range(2)]
    assert not reports.simulated
    assert again[0].simulated
    assert _sent(again[0]).equals(_sent(again[1])), "a seed must repeat"
    assert not _sent(reports).equals(_sent(mechanism.randomize(answers))), "real noise repeats"
    _check_reports(mechanism, answers, reports)
    single = _answers_in(mechanism.domain, rows=1)
    _check_reports(mechanism, single, mechanism.randomize(single))
    silent = Answers.from_frame(
        answers.to_frame().iloc[:0],
        answers.domain,
        tasks=answers.tasks.to_pylist(),
        workers=answers.workers.to_pylist(),
    )
    _check_reports(mechanism, silent, mechanism.randomize(silent))
    _check_types(mechanism, answers, reports)
    _check_order(mechanism, answers)
    _check_noise(mechanism)
    _check_guarantees(mechanism)
    if Mechanism.registry().get(mechanism.name) is type(mechanism):
        data = json.loads(json.dumps(mechanism.to_dict()))
        back = Mechanism.from_dict(data)
        assert back == mechanism
        assert back.to_dict() == data
        assert back.channel == mechanism.channel


def _sent(reports: Reports) -> pd.DataFrame:
    frame: pd.DataFrame = reports.to_frame()
    return frame


def _check_types(mechanism: Mechanism, answers: Answers, reports: Reports) -> None:
    least = np.full_like(answers.values, getattr(answers.domain, "low", 0))
    if isinstance(answers.domain, FiniteDomain):
        least = np.zeros_like(answers.values)
    constant = mechanism.randomize(answers.with_values(answers.domain, least))
    assert constant.table.values.dtype == reports.table.values.dtype
    if reports.sketches is not None and constant.sketches is not None:
        assert constant.sketches.dtype == reports.sketches.dtype
        assert constant.sketches.shape == reports.sketches.shape


def _check_order(mechanism: Mechanism, answers: Answers) -> None:
    """Check that reports do not reveal the order of rows, which could depend on answers."""
    frame = answers.to_frame()
    by_answer = frame.sort_values("label", kind="stable")
    one, other = (
        mechanism.simulate(Answers.from_frame(rows, answers.domain), random_state=SEED)
        for rows in (frame, by_answer)
    )
    assert one.table.tasks.equals(other.table.tasks), "tasks reveal the order of rows"
    assert one.table.workers.equals(other.table.workers), "workers reveal the order of rows"
    pd.testing.assert_frame_equal(_sent(one), _sent(other), obj="reports in another order of rows")


def _check_noise(mechanism: Mechanism, workers: int = 30_000) -> None:
    table, shift = mechanism.channel.probabilities, mechanism.channel.shift
    if table is not None:
        _check_table_noise(mechanism, table, workers)
    elif shift is not None:
        slow = mechanism.noise_draws(answers=1, tasks=1, workers=1)
        _check_shift_noise(mechanism, shift, workers // (20 if slow > 2 else 3))
    elif mechanism.channel.sets is not None:
        _check_set_noise(mechanism, mechanism.channel.sets, workers)
    elif mechanism.channel.bounded_distribution is not None:
        _check_bounded_noise(mechanism, mechanism.channel.bounded_distribution, workers)
    elif isinstance(mechanism, MatrixFactorization):
        _check_sketch_noise(mechanism)
    else:
        _check_table_noise(mechanism, _listed_distribution(mechanism), workers)


def _listed_distribution(mechanism: Mechanism) -> npt.NDArray[np.float64]:
    domain, reports = mechanism.domain, mechanism.report_domain
    assert isinstance(domain, FiniteDomain), "noise cannot be checked: there are too many answers"
    assert isinstance(reports, FiniteDomain | OrNull), "noise cannot be checked: too many reports"
    answers = np.arange(domain.size + mechanism.every_task)[:, np.newaxis]
    return np.exp(mechanism.channel.log_likelihood(np.arange(reports.size), answers))


def _one_each(domain: Domain, values: npt.NDArray[Any], null: npt.NDArray[np.bool_]) -> Answers:
    workers = np.arange(len(values))
    return Answers(
        domain=domain,
        tasks=pa.array([0]),
        workers=pa.array(workers),
        offsets=np.array([0, int((~null).sum())]),
        worker_codes=workers[~null].astype(np.int32),
        values=values[~null],
    )


def _check_table_noise(mechanism: Mechanism, table: npt.NDArray[np.float64], workers: int) -> None:
    domain = mechanism.domain
    assert isinstance(domain, FiniteDomain)
    shown = [*range(min(domain.size, 3)), *range(domain.size, len(table))]
    codes = np.array(shown)[np.arange(workers) % len(shown)].astype(domain.dtype)
    given = mechanism.randomize(_one_each(domain, codes, codes == domain.size)).table.values
    for answer in shown:
        reports = given[codes == answer]
        counts = np.bincount(reports, minlength=table.shape[1])
        _check_counts(counts, table[answer], len(reports))


def _check_set_noise(mechanism: Mechanism, distribution: SetDistribution, workers: int) -> None:
    shown = np.arange(min(distribution.labels, 3))
    codes = shown[np.arange(workers) % len(shown)].astype(mechanism.domain.dtype)
    nobody_silent = np.zeros(workers, np.bool_)
    given = mechanism.randomize(_one_each(mechanism.domain, codes, nobody_silent)).table.values
    for answer in shown:
        reports = given[codes == answer]
        held = sets_with(reports, distribution.labels, distribution.members).sum(axis=0)
        expected = np.full(distribution.labels, float(distribution.held_other))
        expected[answer] = float(distribution.held)
        _check_counts(held, expected, len(reports))
        if distribution.count <= _FEW_SETS:
            likely = np.exp(
                mechanism.channel.log_likelihood(np.arange(distribution.count), np.array([answer]))
            )
            _check_counts(np.bincount(reports, minlength=distribution.count), likely, len(reports))


def _ends_of(
    mechanism: Mechanism, grid: Grid, kinds: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Return the lowest answer for kind 0 and else the highest, and the grid positions of both."""
    ends = np.array([mechanism.domain.low, mechanism.domain.high])  # type: ignore[attr-defined]
    values = ends[np.minimum(kinds, 1)]
    if isinstance(mechanism.domain, FiniteDomain):
        codes = np.array([0, mechanism.domain.size - 1], mechanism.domain.dtype)
        values = codes[np.minimum(kinds, 1)]
    return values, grid.places(ends)


def _check_bounded_noise(
    mechanism: Mechanism, distribution: BoundedDistribution, workers: int
) -> None:
    kinds = np.arange(workers) % 2
    values, places = _ends_of(mechanism, distribution.grid, kinds)
    given = mechanism.randomize(_one_each(mechanism.domain, values, kinds == 2)).table.values
    every = np.arange(distribution.reports)
    parts = np.where(
        np.isin(every, distribution.ends), every, -1 - 8 * every // distribution.reports
    )
    _, parts = np.unique(parts, return_inverse=True)
    for kind, place in enumerate(places):
        chances = np.zeros(int(parts.max()) + 1)
        np.add.at(chances, parts, distribution.weights(every, int(place)) / TOTAL)
        reports = parts[given[kinds == kind]]
        _check_counts(np.bincount(reports, minlength=len(chances)), chances, len(reports))


def _check_shift_noise(mechanism: Mechanism, shift: Shift, workers: int) -> None:
    kinds = np.arange(workers) % (3 if mechanism.every_task else 2)
    values, places = _ends_of(mechanism, shift.grid, kinds)
    reports = mechanism.randomize(_one_each(mechanism.domain, values, kinds == 2))
    for kind in (0, 1):
        noise = reports.table.values[kinds == kind].astype(np.int64) - places[kind]
        _check_distribution(noise, shift.noise)
    bit = mechanism.channel.participation
    if bit is not None:
        assert reports.participation is not None
        bits = np.rint(reports.participation / bit.grid.step).astype(np.int64)
        _check_distribution(bits[kinds < 2] - bit.grid.steps, bit.noise)
        _check_distribution(bits[kinds == 2], bit.noise)
    if mechanism.filling_places is not None:
        filled = reports.table.values[kinds == 2].astype(np.int64)
        _check_distribution(filled, shift.noise, mechanism.filling_places.astype(np.int64))


def _check_sketch_noise(mechanism: MatrixFactorization) -> None:
    """Compare the sums that devices send, or that follow from profiles, with exact ones."""
    channel = mechanism.channel
    answers = _answers_in(mechanism.domain, rows=4_000, workers=500).canonical
    reports = mechanism.randomize(answers)
    assert reports.sketches is not None
    rank = mechanism.rank
    profile = channel.profile.matrix(answers.tasks)
    places = channel.grid.places(mechanism.domain.numbers(answers.values))
    exact = np.zeros((len(answers.workers), rank), np.int64)
    moved = (places.astype(np.int64) - channel.centre)[:, np.newaxis]
    np.add.at(exact, answers.worker_codes, profile[answers.task_codes] * moved)
    moments = np.zeros((len(answers.workers), rank, rank), np.int64)
    rows = profile[answers.task_codes]
    products = rows[:, :, np.newaxis] * rows[:, np.newaxis, :]
    np.add.at(moments, answers.worker_codes, np.sign(products) * (np.abs(products) // UNIT))
    sums = reports.sketches[:, :rank]
    if mechanism.variant == "ridge":
        whole = moments / UNIT + mechanism.ridge * np.eye(rank)
        sums = np.einsum("wij,wj->wi", whole, sums) * (UNIT / channel.grid.step)
    _check_distribution(np.rint(sums - exact).astype(np.int64).reshape(-1), channel.noise)
    noise = channel.moment_noise(profile)
    if noise is not None:
        upper = moments[:, *upper_triangle(rank)]
        _check_distribution((reports.sketches[:, rank:] - upper).reshape(-1), noise)


def _check_distribution(
    noisy: npt.NDArray[np.int64], distribution: Noise, places: npt.NDArray[np.int64] = _ORIGIN
) -> None:
    """Compare binned counts with a mixture of noise around equally likely positions."""
    step = max(1.0, distribution.scale / 2)
    edges = np.unique(np.rint(places.mean() + step * np.arange(-6, 7)).astype(np.int64))
    below = distribution.below(edges[:, np.newaxis] - places[np.newaxis, :]).mean(axis=1)
    counts = np.bincount(np.searchsorted(edges, noisy, side="right"), minlength=len(edges) + 1)
    _check_counts(counts, np.diff(below, prepend=0.0, append=1.0), len(noisy))


def _check_counts(
    counts: npt.NDArray[np.int64], probabilities: npt.NDArray[np.float64], total: int
) -> None:
    chances = np.clip(probabilities, 0.0, 1.0)
    tails = np.minimum(at_most(counts, total, chances), at_least(counts, total, chances))
    assert (2 * len(counts) * tails >= RISK).all(), (
        f"reports do not follow the channel: {counts}; expected {(probabilities * total).round(1)}"
    )


def _answers_in(domain: Domain, rows: int, workers: int = 7) -> Answers:
    rng = np.random.default_rng(SEED)
    if isinstance(domain, FiniteDomain):
        values = domain.decode(rng.integers(0, domain.size, rows).astype(domain.dtype))
    else:
        assert isinstance(domain, Interval)
        values = domain.decode(rng.uniform(domain.low, domain.high, rows))
    frame = pd.DataFrame(
        {
            "task": np.arange(rows) // 4,
            "worker": np.arange(rows) % workers,
            "label": values.to_pylist(),
        }
    )
    return Answers.from_frame(frame, domain, workers=[*range(workers), 10**6])


def _check_reports(mechanism: Mechanism, answers: Answers, reports: Reports) -> None:
    table = reports.table
    answers = answers.canonical
    assert table.dropped == DroppedRows(), "the number of dropped rows is revealed"
    assert table.domain == mechanism.report_domain
    assert table.domain.holds(table.values)
    assert table.tasks.equals(answers.tasks)
    assert table.workers.equals(answers.workers)
    if mechanism.every_task:
        counts = np.full(len(answers.tasks), len(answers.workers))
        assert np.array_equal(table.answers_per_task, counts), "a report is missing"
        assert np.array_equal(table.answers_per_worker, np.full(len(answers.workers), len(counts)))
    else:
        assert np.array_equal(table.offsets, answers.offsets)
        assert np.array_equal(table.worker_codes, answers.worker_codes), "workers are mixed up"


def _check_guarantees(mechanism: Mechanism) -> None:
    one = mechanism.guarantee(tasks=1)
    assert one.total_epsilon == one.epsilon
    if one.delta:  # stated at an epsilon below the pure one
        assert one.epsilon <= mechanism.channel.epsilon
    else:
        assert one.epsilon >= mechanism.channel.epsilon, "the stated loss is too small"
    assert one.epsilon <= mechanism.channel.epsilon + 1e-6, "the stated loss is too large"
    before = one
    for answers in (2, 10, 100):
        now = mechanism.guarantee(answers=answers, tasks=2 * answers)
        assert now.epsilon >= before.epsilon - 1e-9
        assert now.delta >= before.delta
        assert now.total_epsilon >= max(before.total_epsilon, now.epsilon) - 1e-9
        assert max(map(len, str(now).splitlines())) <= 80
        named = mechanism.guarantee(answers=answers, tasks=range(2 * answers))
        assert (named.epsilon, named.delta, named.tasks) == (now.epsilon, now.delta, now.tasks)
        assert now.epsilon <= named.total_epsilon <= now.total_epsilon, "names increase the loss"
        before = now
