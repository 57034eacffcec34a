"""New tasks beside an earlier estimate."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference import CATD, CRH, GTM, MOON, KDEm, WeightedMean
from quietcrowd.inference.model import Extension, Tally
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.report_domains import Reals

LABELS = qc.make_crowd(tasks=600, workers=30, answers_per_task=8, labels=range(3), random_state=5)
NUMBERS = qc.make_crowd(
    kind="sparse", tasks=400, workers=40, sparsity=0.7, truths="uniform", random_state=5
)
NOISY = qc.LaplaceMechanism(domain=NUMBERS.answers.domain, epsilon=4.0, fill=None)


def split(answers, share=0.02):
    """Return the answers on all tasks but some, and those on these."""
    frame = answers.to_frame()
    names = frame["task"].unique()
    new = frame["task"].isin(names[: int(len(names) * share)])
    return [Answers.from_frame(part, answers.domain) for part in (frame[~new], frame[new])]


@pytest.mark.parametrize(
    "method",
    [
        qc.WeightedVote(),
        qc.DawidSkene(),
        qc.DawidSkene(one_coin=True),
        qc.GLAD(),
        CRH(loss="zero-one"),
    ],
    ids=lambda method: f"{method.name}-{getattr(method, 'one_coin', '')}",
)
def test_labels_of_new_tasks_are_those_of_a_fit_to_all(method):
    old, new = split(LABELS.answers)
    more = method.extend(method.fit(old), new)
    whole = method.fit(LABELS.answers).truths.set_index("task")["truth"]
    found = more.truths.set_index("task")["truth"]
    assert (found == whole[found.index]).mean() >= 0.9
    quality = method.fit(LABELS.answers).workers.set_index("worker")["accuracy"]
    np.testing.assert_allclose(
        more.workers.set_index("worker")["accuracy"][quality.index], quality, atol=0.03
    )
    assert more.n_iter < 12


@pytest.mark.parametrize(
    "method",
    [
        WeightedMean(),
        CRH(),
        CRH(loss="absolute"),
        CATD(),
        GTM(),
        KDEm(truth="mean"),
        MOON(variant="quadratic"),
    ],
    ids=lambda method: f"{method.name}-{getattr(method, 'loss', '')}",
)
def test_numbers_of_new_tasks_are_those_of_a_fit_to_all(method):
    old, new = split(NUMBERS.answers)
    more = method.extend(method.fit(old), new)
    whole = method.fit(NUMBERS.answers).truths.set_index("task")["truth"]
    found = more.truths.set_index("task")["truth"]
    step = 1.0 if getattr(method, "loss", "") == "absolute" else 0.1  # medians jump by a level
    np.testing.assert_allclose(found, whole[found.index], atol=step)


@pytest.mark.parametrize("solver", [nightly("em"), "lagrange"])
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_moon_learns_on(solver):
    method = MOON(solver=solver)
    reports = NOISY.simulate(NUMBERS.answers, random_state=2)
    parts = [evolve(reports, table=table) for table in split(reports.table)]
    more = method.extend(method.fit(parts[0]), parts[1])
    whole = method.fit(reports)
    truths = whole.truths.set_index("task")["truth"]
    found = more.truths.set_index("task")["truth"]
    error = whole.truths.set_index("task")["standard_error"].mean()
    assert np.abs(found - truths[found.index]).max() < 0.3 * error
    sigma = whole.workers.set_index("worker")["error_sd"]
    ratio = more.workers.set_index("worker")["error_sd"][sigma.index] / sigma
    assert 0.8 < ratio.min() <= ratio.max() < 1.25


@pytest.mark.parametrize("method", [qc.MajorityVote(), qc.Mean(), qc.Median()])
def test_workers_of_methods_that_learn_nothing_are_judged_as_by_a_fit_to_all(method):
    crowd = LABELS if method.infers_labels(Reals()) else NUMBERS
    old, new = split(crowd.answers, share=0.4)
    more, whole = method.extend(method.fit(old), new), method.fit(crowd.answers)
    columns = ["agreement"] if method.infers_labels(Reals()) else ["error"]
    tables = [
        estimate.workers.set_index("worker").sort_index()[[*columns, "answers"]]
        for estimate in (more, whole)
    ]
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)


def test_a_wider_range_and_a_busier_worker_change_the_units_and_not_the_errors():
    rows = [(f"a{task}", worker, task % 5) for task in range(20) for worker in range(6)]
    rows += [(f"b{task}", worker, 40 * worker) for task in range(300) for worker in (5, 6, 7)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    old = frame["task"].str.startswith("a")
    method = qc.Mean()
    more, whole = (
        method.extend(method.fit(frame[old], non_private=True), frame[~old], non_private=True),
        method.fit(frame, non_private=True),
    )
    tables = [
        estimate.workers.set_index("worker").sort_index()[["error", "answers"]]
        for estimate in (more, whole)
    ]
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)


def test_an_extended_estimate_can_be_extended():
    names = LABELS.answers.to_frame()["task"].unique()
    frame = LABELS.answers.to_frame()
    method = qc.WeightedVote()
    estimate = method.fit(frame, non_private=True)
    for step in range(3):
        fresh = frame[frame["task"].isin(names[:20])].assign(
            task=lambda rows, step=step: [f"{step}-{task}" for task in rows["task"]]
        )
        estimate = method.extend(estimate, fresh, non_private=True)
        assert len(estimate.truths) == 20
    assert estimate.workers["answers"].sum() == len(frame) + 3 * len(fresh)


def test_known_truths_of_new_tasks_stay():
    old, new = split(LABELS.answers)
    gold = pd.DataFrame({"task": [new.tasks[0].as_py()], "label": [2]})
    method = qc.WeightedVote()
    more = method.extend(method.fit(old), new, gold=gold)
    assert more.truths.set_index("task")["truth"][gold["task"][0]] == 2
    assert more.known.sum() == 1


def test_newcomers_come_last_and_ids_of_another_type_match():
    old, new = split(LABELS.answers)
    frame = new.to_frame().astype({"worker": str})
    frame.loc[0, "worker"] = "newcomer"
    method = qc.WeightedVote()
    start = method.fit(old)
    more = method.extend(start, frame, non_private=True)
    names = more.workers["worker"].tolist()
    assert names == [*map(str, start.workers["worker"]), "newcomer"]


@pytest.mark.parametrize("kind", ["int32", "uint8", "int64"])
def test_whole_numbers_of_another_width_stay_numbers(kind):
    old, new = split(LABELS.answers)
    start = qc.WeightedVote().fit(old)
    frame = new.to_frame().astype({"worker": kind})
    more = qc.WeightedVote().extend(start, frame, non_private=True)
    assert more.workers["worker"].tolist() == start.workers["worker"].tolist()
    frame.loc[0, "worker"] = 200
    assert (
        qc.WeightedVote().extend(start, frame, non_private=True).workers["worker"].iloc[-1] == 200
    )


def test_a_text_that_reads_as_a_number_is_another_worker():
    old, new = split(LABELS.answers)
    frame = new.to_frame().astype({"worker": str})
    frame.loc[0, "worker"] = "007"
    names = (
        qc.WeightedVote()
        .extend(qc.WeightedVote().fit(old), frame, non_private=True)
        .workers["worker"]
    )
    assert names.iloc[-1] == "007"
    assert "7" in names.tolist()


def test_the_limit_of_iterations_may_differ():
    old, new = split(LABELS.answers)
    start = qc.WeightedVote(max_iter=2).fit(old)
    assert len(qc.WeightedVote().extend(start, new).truths) == len(new.tasks)


def test_what_does_not_go_together_is_refused():
    old, new = split(LABELS.answers)
    start = qc.WeightedVote().fit(old)
    with pytest.raises(ParameterError, match="estimate of WeightedVote"):
        qc.WeightedVote(smoothing=3).extend(start, new)
    with pytest.raises(ParameterError, match="init must be an estimate"):
        qc.DawidSkene().extend(start, new)
    with pytest.raises(ParameterError, match="init must be a TruthEstimate; got str"):
        qc.DawidSkene().extend("x", new)
    with pytest.raises(AnswerError, match="is in the earlier estimate"):
        qc.WeightedVote().extend(start, old)
    extended = qc.WeightedVote().extend(start, new)
    for known in (old, new):  # also those of the estimate before the last
        with pytest.raises(AnswerError, match="is in the earlier estimate"):
            qc.WeightedVote().extend(extended, known)
    none = new.to_frame().iloc[:0]
    nothing = Answers.from_frame(none, new.domain, tasks=["x"], workers=["y"])
    with pytest.raises(AnswerError, match="there is no answer"):
        qc.WeightedVote().extend(start, nothing)
    mechanism = qc.RandomizedResponse(domain=old.domain, epsilon=1.0)
    with pytest.raises(ParameterError, match="the channel of the earlier answers"):
        qc.WeightedVote().extend(start, mechanism.randomize(new))
    other = Answers.from_frame(new.to_frame(), qc.Categorical(range(4)))
    with pytest.raises(ParameterError, match="init must be an estimate for"):
        qc.WeightedVote().extend(start, other)


def test_workers_who_draw_their_noise_by_another_distribution_are_refused():
    """No worker's table is public, but the tables that a worker may have are."""
    old, new = split(LABELS.answers)
    one, other = (
        TwoLayerRandomizedResponse(domain=old.domain, low=low, high=0.4) for low in (0.1, 0.2)
    )
    start = qc.NoiseAware().fit(one.randomize(old))
    assert len(qc.NoiseAware().extend(start, one.randomize(new)).truths) == len(new.tasks)
    with pytest.raises(ParameterError, match="the channel of the earlier answers"):
        qc.NoiseAware().extend(start, other.randomize(new))


@pytest.mark.parametrize("place", [0, 1_234, 2_999])
def test_one_repeated_task_among_many_is_found(place):
    def frame(names):
        return pd.DataFrame({"task": names, "worker": "a", "label": "yes"})

    domain = qc.Categorical(["no", "yes"])
    start = qc.WeightedVote().fit(
        Answers.from_frame(frame([f"old{i}" for i in range(3_000)]), domain)
    )
    names = [f"new{i}" for i in range(500)]
    assert len(qc.WeightedVote().extend(start, frame(names), non_private=True).truths) == 500
    with pytest.raises(AnswerError, match=f"task 'old{place}' is in the earlier estimate"):
        qc.WeightedVote().extend(start, frame([*names, f"old{place}"]), non_private=True)


def test_a_label_that_the_estimate_does_not_know_is_refused():
    old, _ = split(LABELS.answers)
    start = qc.WeightedVote().fit(old)
    with pytest.raises(AnswerError, match="domain"):
        qc.WeightedVote().extend(
            start, pd.DataFrame({"task": ["new"], "worker": [0], "label": [9]}), non_private=True
        )


def test_a_tally_that_says_nothing_of_it_cannot_be_extended():
    class Mute(Tally):
        def __add__(self, other):
            return self

    model = qc.Mean().fit(NUMBERS.answers).model
    with pytest.raises(NotImplementedError, match="Mute is extended by its model"):
        model.extend_tally(Mute(), Extension(positions=np.arange(1), old=model, new=model))


@pytest.mark.parametrize(
    "method",
    [qc.DawidSkene(), qc.DawidSkene(one_coin=True), qc.GLAD(), GTM(), WeightedMean()],
    ids=lambda method: f"{method.name}-{getattr(method, 'one_coin', '')}",
)
def test_what_the_loop_climbs_never_falls(method):
    """Some tasks are looked at again and the others' part of the bound is kept."""
    crowd = LABELS if method.infers_labels(Reals()) else NUMBERS
    old, new = split(crowd.answers, share=0.3)
    more = evolve(method, tol=0, max_iter=30).extend(
        evolve(method, tol=0, max_iter=30).fit(old), new
    )
    assert len(more.history) > 3
    step = 2.0**-24 / len(crowd.answers)  # in which GTM adds up the evidence of a task
    assert np.diff(more.history).min() > -len(new.tasks) * step


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
def test_noise_may_exceed_the_numbers_of_a_few_earlier_tasks():
    """The largest of 1,100 reports exceeds that of 100 by a tenth of the range, in most draws."""
    domain, rng = qc.Interval(low=0, high=10), np.random.default_rng(1)
    rows = [(task, worker, rng.uniform(4, 6)) for task in range(60) for worker in range(20)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    noisy = qc.LaplaceMechanism(domain=domain, epsilon=1.0, fill=None)
    few, many = (
        noisy.simulate(Answers.from_frame(some, domain), random_state=1)
        for some in (frame[frame["task"] < 5], frame[frame["task"] >= 5])
    )
    estimate = qc.NoiseAware().fit(few)
    found = qc.NoiseAware().extend(estimate, many)
    assert found.summary.extent > 1.1 * estimate.summary.extent
    assert found.truths["truth"].between(0, 10).all()
