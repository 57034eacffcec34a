"""Helpers for those who test with quietcrowd, and the conformance battery of its own parts.

The battery is a set of plain functions that raise AssertionError. Every method and every mechanism
of the library passes it; whoever adds one calls `check_method` or `check_mechanism`.
"""

from __future__ import annotations

import json
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from quietcrowd.answers import Answers, DroppedRows
from quietcrowd.datasets.synthetic import synthetic_crowd
from quietcrowd.domains import Categorical, Domain, FiniteDomain, check_finite
from quietcrowd.exceptions import AnswerError, MissingExtraError
from quietcrowd.inference.categorical import CategoricalMethod
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.noise_warning import noise_ignored
from quietcrowd.inference.partition import partition_of, summary_of
from quietcrowd.inference.registry import METHODS, method_from_dict
from quietcrowd.inference.sweep import run_loop
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.reports import Reports

try:
    from hypothesis import strategies as st
except ImportError:
    raise MissingExtraError(
        "quietcrowd.testing needs Hypothesis: pip install 'quietcrowd[testing]'"
    ) from None

__all__ = [
    "assert_estimates_equal",
    "check_mechanism",
    "check_method",
    "crowds",
    "finite_domains",
]

SEED = 20_180_819


@st.composite
def finite_domains(draw: st.DrawFn, min_size: int = 2, max_size: int = 6) -> Categorical:
    """Draw a categorical domain of texts or whole numbers."""
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
    """Draw a frame of answers with columns ``task``, ``worker``, ``label``, in any order.

    At least one answer, no (task, worker) pair twice.
    """
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


def assert_estimates_equal(
    left: TruthEstimate, right: TruthEstimate, *, tied_tasks: bool = True
) -> None:
    """Raise AssertionError unless two estimates agree to the last bit, in any order of rows.

    Parameters
    ----------
    left, right : TruthEstimate
        Tasks and workers are matched by what their ids print as.
    tied_tasks : bool
        Whether the truths of tied tasks, which are drawn, have to agree too.
    """
    for name, key in (("truths", "task"), ("workers", "worker")):
        ours, theirs = (
            _by_id(getattr(estimate, f"{name}_as")("pandas"), key) for estimate in (left, right)
        )
        _assert_same(ours, theirs, tied_tasks=tied_tasks, name=name)
    assert left.history == right.history, f"histories differ: {left.history} and {right.history}"


def _by_id(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    frame = frame.assign(**{key: frame[key].astype(str)})
    return frame.sort_values(key).reset_index(drop=True)


def _assert_same(
    left: pd.DataFrame, right: pd.DataFrame, *, tied_tasks: bool, name: str = "truths"
) -> None:
    if not tied_tasks and "tied" in left:
        pd.testing.assert_series_equal(left["tied"], right["tied"])
        left, right = (frame[~frame["tied"]] for frame in (left, right))
    pd.testing.assert_frame_equal(left, right, check_exact=True, check_dtype=False, obj=name)


def _fit(method: CategoricalMethod[Any, Any], data: Any, **options: Any) -> TruthEstimate:
    with noise_ignored():
        return method.fit(data, **options)


def check_method(method: CategoricalMethod[Any, Any]) -> None:
    """Run the conformance battery on a truth-inference method for labels.

    Any order of rows, any names of tasks, workers and labels, ids of any type, single answers,
    ties, every dataframe library, any number of partitions and threads, a warm start, a round
    trip through JSON.
    """
    for labels in (("no", "yes"), (1, 2, 3, 4, 5)):
        crowd = synthetic_crowd(tasks=60, workers=15, answers_per_task=4, labels=labels, seed=SEED)
        frame = crowd.answers.to_frame()
        estimate = _fit(method, Answers.from_frame(frame, crowd.answers.domain))
        _check_row_order(method, frame, crowd.answers.domain, estimate)
        _check_renaming(method, frame, crowd.answers.domain, estimate)
        _check_partitions(method, crowd.answers)
        _check_agreement(method, _with_a_tied_task(crowd.answers))
        _check_libraries(method, frame)
        _check_warm_start(method, crowd.answers)
    if METHODS.get(method.name) is type(method):
        assert method_from_dict(json.loads(json.dumps(method.to_dict()))) == method
    _check_small_cases(method)
    _check_tie_breaks(method)


def _check_row_order(
    method: CategoricalMethod[Any, Any],
    frame: pd.DataFrame,
    domain: Domain,
    estimate: TruthEstimate,
) -> None:
    for seed in range(3):
        shuffled = frame.sample(frac=1, random_state=seed)
        assert_estimates_equal(estimate, _fit(method, Answers.from_frame(shuffled, domain)))


def _check_renaming(
    method: CategoricalMethod[Any, Any],
    frame: pd.DataFrame,
    domain: Domain,
    estimate: TruthEstimate,
) -> None:
    def workers_of(found: TruthEstimate) -> pd.DataFrame:
        return _by_id(found.workers_as("pandas"), "worker")

    new_names = {worker: worker * 7 % 15 for worker in frame["worker"].unique()}
    renamed = _fit(
        method, Answers.from_frame(frame.assign(worker=frame["worker"].map(new_names)), domain)
    )
    _assert_same_truths(estimate, renamed, tied_tasks=True)
    moved = workers_of(estimate).assign(
        worker=lambda found: found["worker"].astype(int).map(new_names)
    )
    _assert_same(_by_id(moved, "worker"), workers_of(renamed), tied_tasks=True, name="workers")

    first = pd.Timestamp("2020-01-01")
    dates = first + pd.to_timedelta(frame["task"].astype(int), unit="D")
    dated = _fit(method, Answers.from_frame(frame.assign(task=dates), domain))
    _assert_same_truths(
        estimate, dated, tied_tasks=False, task=lambda found: (found["task"] - first).dt.days
    )
    _assert_same(workers_of(estimate), workers_of(dated), tied_tasks=True, name="workers")

    finite = check_finite(domain, "the battery")
    other = Categorical([f"<{label}>" for label in reversed(finite.labels)])
    relabelled = frame.assign(label=frame["label"].map(lambda label: f"<{label}>"))
    named = _fit(method, Answers.from_frame(relabelled, other))
    plain = {f"<{label}>": label for label in finite.labels}
    _assert_same_truths(
        estimate, named, tied_tasks=False, truth=lambda found: found["truth"].map(plain)
    )
    _assert_same(workers_of(estimate), workers_of(named), tied_tasks=True, name="workers")


def _assert_same_truths(
    left: TruthEstimate, right: TruthEstimate, *, tied_tasks: bool, **undo: Any
) -> None:
    """Compare truths after undoing a renaming of the right ones."""
    ours, theirs = left.truths_as("pandas"), right.truths_as("pandas").assign(**undo)
    _assert_same(_by_id(ours, "task"), _by_id(theirs, "task"), tied_tasks=tied_tasks)


def _check_agreement(method: CategoricalMethod[Any, Any], answers: Answers) -> None:
    """Agreement is what it says, and confidence tells a close vote from a clear one."""
    estimate = _fit(method, answers)
    found = estimate.estimates
    tied = found.tied[answers.task_codes]
    agrees = (answers.values == found.truths[answers.task_codes]) & ~tied
    sure, open_ = (
        np.bincount(answers.worker_codes, weights=rows, minlength=len(answers.workers))
        / answers.answers_per_worker
        for rows in (agrees, tied)
    )
    assert (estimate.agreement >= sure - 1e-6).all(), "agreement is too small"
    assert (estimate.agreement <= sure + open_ + 1e-6).all(), "agreement is too large"
    labels = check_finite(answers.domain, "the battery").size
    assert found.confidence.min() >= 1 / labels - 1e-9, "the winner has less than a fair share"
    assert found.confidence.max() <= 1
    assert found.confidence[~found.tied].mean() > found.confidence[found.tied].mean(), (
        "confidence is no larger where there is no tie"
    )


def _check_partitions(method: CategoricalMethod[Any, Any], answers: Answers) -> None:
    domain = check_finite(answers.domain, "the battery")
    summary = summary_of(answers, domain.size)
    whole = run_loop(method, [partition_of(answers)], summary, domain.dtype, threads=1)
    for parts in (1, 2, 7):
        for threads in (1, 2):
            split = partition_of(answers).split(parts)
            assert len(split) == parts, f"{parts} partitions wanted, {len(split)} made"
            again = run_loop(method, split, summary, domain.dtype, threads=threads)
            for name in attrs.fields_dict(type(whole.estimates)):
                left, right = getattr(whole.estimates, name), getattr(again.estimates, name)
                assert np.array_equal(left, right), f"{name}: {parts} parts, {threads} threads"
            assert whole.history == again.history, f"history: {parts} parts, {threads} threads"


def _with_a_tied_task(answers: Answers) -> Answers:
    """Add a task on which two new workers, who answer nothing else, disagree."""
    finite = check_finite(answers.domain, "the battery")
    split = pd.DataFrame({"task": 10**6, "worker": [10**6, 10**6 + 1], "label": finite.labels[:2]})
    return Answers.from_frame(pd.concat([answers.to_frame(), split]), answers.domain)


def _check_libraries(method: CategoricalMethod[Any, Any], frame: pd.DataFrame) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    expected = _fit(method, frame)
    others: list[Any] = [table]
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        others.append(pl.from_arrow(table))
    for other in others:
        estimate = _fit(method, other)
        assert type(estimate.truths) is type(other), (
            f"{type(other)} in, {type(estimate.truths)} out"
        )
        assert type(estimate.workers) is type(other)
        assert_estimates_equal(expected, estimate)
    series = method.fit_predict(frame)
    assert series.name == "agg_label"
    assert series.index.name == "task"
    assert len(series) == frame["task"].nunique()


def _check_warm_start(method: CategoricalMethod[Any, Any], answers: Answers) -> None:
    cold = _fit(method, answers)
    warm = _fit(method, answers, start=cold)
    assert warm.iterations <= max(cold.iterations, 2), f"{warm.iterations} after {cold.iterations}"
    newcomer = answers.to_frame()
    newcomer.loc[0, "worker"] = 10**6
    _fit(method, Answers.from_frame(newcomer, answers.domain), start=cold)


def _check_small_cases(method: CategoricalMethod[Any, Any]) -> None:
    domain = Categorical([0, 1, 2])

    def read(rows: list[tuple[Any, Any, int]], **options: Any) -> Answers:
        frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
        return Answers.from_frame(frame, domain, **options)

    single = _fit(method, read([("a", "u", 1)])).truths
    assert single["truth"].tolist() == [1]
    same = _fit(method, read([(task, worker, 2) for task in "abc" for worker in "uvw"]))
    assert same.truths["truth"].tolist() == [2, 2, 2]
    assert same.truths["confidence"].between(0, 1).all()
    silent = _fit(method, read([("a", "u", 1)], workers=["u", "v"], tasks=["a", "b"]))
    assert silent.workers["answers"].tolist() == [1, 0]
    assert silent.workers["quality"].isna().tolist() == [False, True]
    assert silent.truths["answers"].tolist() == [1, 0]
    assert silent.truths["truth"].isna().tolist() == [False, True]
    assert silent.truths["tied"].tolist() == [False, False]
    try:
        method.fit(pd.DataFrame({"task": [], "worker": [], "label": []}))
    except AnswerError:
        pass
    else:
        raise AssertionError("an empty frame must be an AnswerError")


def _check_tie_breaks(method: CategoricalMethod[Any, Any]) -> None:
    """Ties are flagged, drawn without a favourite, and drawn the same again."""
    domain = Categorical(["a", "b", "c"])
    tasks = 3_000
    frame = pd.DataFrame(
        {
            "task": np.repeat(np.arange(tasks), 2),
            "worker": np.arange(2 * tasks),
            "label": np.tile(["a", "c"], tasks),
        }
    )
    answers = Answers.from_frame(frame, domain)
    truths = _fit(method, answers).truths
    assert truths["tied"].all()
    counts = truths["truth"].value_counts()
    assert set(counts.index) == {"a", "c"}, "a tie is not drawn from the tied labels alone"
    # 4.9 standard deviations: a false alarm once in 10^6 seeds, and the seed is fixed.
    assert abs(counts["a"] - tasks / 2) < 4.9 * np.sqrt(tasks) / 2
    assert truths["truth"].tolist() == _fit(method, answers).truths["truth"].tolist()
    other = _fit(attrs.evolve(method, seed=method.seed + 1), answers).truths
    assert truths["truth"].tolist() != other["truth"].tolist()


def check_mechanism(mechanism: Mechanism) -> None:
    """Run the conformance battery on a mechanism.

    The same pairs leave as came in, in an order that depends on ids alone; real reports follow the
    channel; what is stated is no less than the channel loses; every report lies in its domain;
    a fixed generator gives the same reports again; nothing of the answers shows in the dtype; a
    worker without answers and one with a single answer are legal; JSON gives back an equal
    mechanism; guarantees grow with the number of answers.
    """
    answers = _answers_in(mechanism.domain, rows=240)
    reports = mechanism.randomize(answers)
    again = [mechanism.randomize(answers, rng=np.random.default_rng(SEED)) for _ in range(2)]
    assert not reports.simulated
    assert again[0].simulated
    assert np.array_equal(again[0].table.values, again[1].table.values), "a seed must repeat"
    _check_reports(mechanism, answers, reports)
    constant = answers.with_values(answers.domain, np.zeros_like(answers.values))
    assert mechanism.randomize(constant).table.values.dtype == reports.table.values.dtype
    single = _answers_in(mechanism.domain, rows=1)
    _check_reports(mechanism, single, mechanism.randomize(single))
    _check_order(mechanism, answers)
    _check_noise(mechanism)
    _check_guarantees(mechanism)
    if Mechanism.registry().get(mechanism.name) is type(mechanism):
        data = json.loads(json.dumps(mechanism.to_dict()))
        back = Mechanism.from_dict(data)
        assert back == mechanism
        assert back.to_dict() == data
        assert back.channel == mechanism.channel


def _check_order(mechanism: Mechanism, answers: Answers) -> None:
    """Check that the order of the rows that came in, which may tell of answers, stays behind."""
    frame = answers.to_frame()
    by_answer = frame.sort_values("label", kind="stable")
    one, other = (
        mechanism.randomize(
            Answers.from_frame(rows, answers.domain), rng=np.random.default_rng(SEED)
        ).table
        for rows in (frame, by_answer)
    )
    assert one.tasks.equals(other.tasks), "the order of rows shows in the tasks"
    assert one.workers.equals(other.workers), "the order of rows shows in the workers"
    assert np.array_equal(one.worker_codes, other.worker_codes), "the order of rows shows"
    assert np.array_equal(one.values, other.values), "the order of rows shows in the reports"


def _check_noise(mechanism: Mechanism, workers: int = 30_000) -> None:
    """Real reports of workers with one answer each follow the channel, and differ each time.

    A count may be off by 5.5 standard deviations: a false alarm once in 10^7 counts.
    """
    domain = check_finite(mechanism.domain, "the battery")
    shown = min(domain.size, 3)
    codes = (np.arange(workers) % shown).astype(domain.dtype)
    answers = Answers(
        domain=domain,
        tasks=pa.array([0]),
        workers=pa.array(np.arange(workers)),
        offsets=np.array([0, workers]),
        worker_codes=np.arange(workers, dtype=np.int32),
        values=codes,
    )
    one, other = (mechanism.randomize(answers).table.values for _ in range(2))
    assert not np.array_equal(one, other), "real noise repeats"
    probabilities = mechanism.channel.probabilities
    for answer in range(shown):
        given = one[codes == answer]
        counts = np.bincount(given, minlength=probabilities.shape[1])
        expected = probabilities[answer] * len(given)
        spread = np.sqrt(expected * (1 - probabilities[answer]))
        assert (abs(counts - expected) <= 5.5 * spread + 1).all(), (
            "reports do not follow the channel"
        )


def _answers_in(domain: Domain, rows: int) -> Answers:
    finite = check_finite(domain, "the battery")
    rng = np.random.default_rng(SEED)
    labels = finite.decode(rng.integers(0, finite.size, rows).astype(finite.dtype)).to_pylist()
    frame = pd.DataFrame(
        {"task": np.arange(rows) // 4, "worker": np.arange(rows) % 7, "label": labels}
    )
    return Answers.from_frame(frame, domain, workers=[*range(7), 99])


def _check_reports(mechanism: Mechanism, answers: Answers, reports: Reports) -> None:
    table = reports.table
    answers = answers.canonical
    assert table.dropped == DroppedRows(), "what was dropped on the way in is told"
    finite = check_finite(mechanism.report_domain, "the battery")
    assert table.domain == finite
    assert np.array_equal(table.offsets, answers.offsets)
    assert np.array_equal(table.worker_codes, answers.worker_codes), "workers are mixed up"
    assert table.tasks.equals(answers.tasks)
    assert table.workers.equals(answers.workers)
    codes: npt.NDArray[Any] = table.values
    assert codes.max(initial=0) < finite.size


def _check_guarantees(mechanism: Mechanism) -> None:
    one = mechanism.guarantee()
    assert one.worker_epsilon == one.epsilon
    assert one.epsilon >= mechanism.channel.epsilon, "less is stated than the channel loses"
    assert one.epsilon <= mechanism.channel.epsilon + 1e-6, "more is stated than the channel loses"
    before = one
    for answers in (2, 10, 100):
        now = mechanism.guarantee(answers=answers, tasks=2 * answers)
        assert now.epsilon >= before.epsilon - 1e-9
        assert now.worker_epsilon >= max(before.worker_epsilon, now.epsilon) - 1e-9
        assert max(map(len, str(now).splitlines())) <= 80
        before = now
