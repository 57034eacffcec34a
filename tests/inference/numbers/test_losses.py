"""CRH and CATD against plain NumPy, and workers who must not capture a task."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from scipy import stats

import quietcrowd as qc
import quietcrowd.inference.numbers.losses as catd_module
from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Categorical, Interval
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference import CATD, CRH, Mean, WeightedMean
from quietcrowd.inference.partition import Partition, Summary

CROWD = make_crowd(
    kind="sparse", tasks=40, workers=30, sparsity=0.6, truths="uniform", random_state=3
)
LABELS = make_crowd(
    tasks=80, workers=20, answers_per_task=6, labels=("a", "b", "c"), random_state=5
)
SWEEPS = 4


def weighted_median(values, weights):
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return values[order][np.searchsorted(below, below[-1] / 2)]


def numbers_of(frame):
    """Return the answers of a frame, whose whole numbers are no classes."""
    return qc.Answers.from_frame(frame, qc.Interval(low=0, high=100))


def truths_of(answers, weights, loss):
    values = answers.values.astype(float)
    truths = np.empty(len(answers.tasks))
    for task in range(len(answers.tasks)):
        rows = slice(answers.offsets[task], answers.offsets[task + 1])
        given, counted = values[rows], weights[answers.worker_codes[rows]]
        if loss == "zero-one":
            truths[task] = np.argmax(np.bincount(given.astype(int), counted))
        elif loss == "absolute":
            truths[task] = weighted_median(given, counted)
        else:
            truths[task] = (given * counted).sum() / counted.sum()
    return truths


def losses_of(answers, weights, loss, power=0):
    if loss == "zero-one":
        return label_losses_of(answers, weights)
    error = np.abs(answers.values - truths_of(answers, weights, loss)[answers.task_codes])
    frame = pd.Series(answers.values).groupby(answers.task_codes)
    spread = frame.std(ddof=0).to_numpy()[answers.task_codes]
    cost = (error if loss == "absolute" else error**2) / spread**power
    return np.bincount(answers.worker_codes, cost)


def label_losses_of(answers, weights):
    """An answer for one of t labels that tie costs 1 - 1/t."""
    losses = np.zeros(len(weights))
    for task in range(len(answers.tasks)):
        rows = slice(answers.offsets[task], answers.offsets[task + 1])
        given, workers = answers.values[rows].astype(int), answers.worker_codes[rows]
        votes = np.bincount(given, weights[workers], minlength=3)
        best = votes > votes.max() - 1e-9
        np.add.at(losses, workers, 1 - best[given] / best.sum())
    return losses


def crh_weights(losses, counts, normaliser, per_answer):
    shared = losses / counts if per_answer else losses
    shared = np.maximum(shared, 1e-12 * shared.sum())
    weights = -np.log(shared / (shared.sum() if normaliser == "sum" else shared.max()))
    return np.maximum(weights / weights.max(), 1e-6)


@pytest.mark.parametrize("loss", ["squared", "absolute", "zero-one"])
@pytest.mark.parametrize(("divisor", "power"), [("std", 1), ("variance", 2), (None, 0)])
@pytest.mark.parametrize("normaliser", ["sum", "max"])
@pytest.mark.parametrize("per_answer", [True, False])
def test_crh_is_its_equations(loss, divisor, power, normaliser, per_answer):
    if (loss, divisor) == ("absolute", "variance"):
        with pytest.raises(ParameterError, match="no bound"):
            CRH(loss=loss, divisor=divisor)
        return
    answers = LABELS.answers if loss == "zero-one" else CROWD.answers
    found = CRH(
        loss=loss,
        divisor=divisor,
        normaliser=normaliser,
        per_answer=per_answer,
        max_iter=SWEEPS,
        tol=0.0,
    ).fit(answers)
    weights = np.ones(len(answers.workers))
    for _ in range(found.n_iter):
        losses = losses_of(answers, weights, loss, power)
        weights = crh_weights(losses, answers.answers_per_worker, normaliser, per_answer)
    assert found.state.weights == pytest.approx(weights, rel=1e-6)
    expected = truths_of(answers, found.state.weights, loss)
    untied = ~found.estimates.tied if loss == "zero-one" else slice(None)
    assert found.estimates.truths[untied] == pytest.approx(expected[untied], abs=1e-9)


@pytest.mark.parametrize("loss", ["squared", "absolute", "zero-one"])
@pytest.mark.parametrize(("alpha", "smoothing"), [(0.05, 1.0), (0.05, 0.0), (0.5, 3.0)])
def test_catd_is_its_equations(loss, alpha, smoothing):
    answers = LABELS.answers if loss == "zero-one" else CROWD.answers
    found = CATD(loss=loss, alpha=alpha, smoothing=smoothing, max_iter=SWEEPS, tol=0.0).fit(answers)
    counts = answers.answers_per_worker
    weights = np.ones(len(answers.workers))
    for _ in range(found.n_iter):
        losses = losses_of(answers, weights, loss)
        pooled = losses.sum() / counts.sum()
        weights = stats.chi2.ppf(alpha / 2, counts) / np.maximum(losses + smoothing * pooled, 1e-9)
        weights = np.maximum(weights / weights.max(), 1e-6)
    assert found.state.weights == pytest.approx(weights, rel=1e-6)


def test_catd_takes_the_lower_quantile():
    """At the same mean error, many answers count more; with the upper quantile they would not."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        [(task, f"w{i}", rng.normal()) for task in range(60) for i in range(6)]
        + [(task, "few", rng.normal()) for task in range(3)],
        columns=["task", "worker", "label"],
    )
    workers = (
        CATD(smoothing=0.0, max_iter=1).fit(frame, non_private=True).workers.set_index("worker")
    )
    many = workers["weight"].drop("few") * workers["error"].drop("few") ** 2
    assert workers.loc["few", "weight"] * workers.loc["few", "error"] ** 2 < 0.2 * many.min()


def test_the_weights_of_crh_are_the_least_costly():
    """Where the sum of exp(-w) is 1, no other weights make the sum of w D smaller."""
    losses = np.array([0.1, 0.4, 0.2, 1.3])
    best = -np.log(losses / losses.sum())
    assert np.exp(-best).sum() == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    for shares in rng.dirichlet(np.ones(4), size=1000):
        assert (-np.log(shares) * losses).sum() >= (best * losses).sum() - 1e-12


def captured(method):
    """How near the truth of a task comes to the one answer of a worker who answered nothing else.

    Ten others say about 5, so does the mean of all; the lone answer, 5.06, is nearer to it.
    """
    rng = np.random.default_rng(7)
    rows = [(task, f"w{i}", rng.normal(5, 1)) for task in range(20) for i in range(6)]
    others = [row[2] for row in rows if row[0] == 0]
    lone = float(np.mean(others)) + 0.01
    rows.append((0, "lone", lone))
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    estimate = method.fit(Answers.from_frame(frame, Interval(low=-100, high=100)))
    quality = estimate.workers.set_index("worker")["weight"]
    return quality["lone"] / quality.drop("lone").median()


@pytest.mark.parametrize("printed", [CATD(smoothing=0.0), WeightedMean(smoothing=0.0, floor=1e-9)])
def test_as_printed_a_worker_of_one_answer_captures_its_task(printed):
    assert captured(printed) > 1000


@pytest.mark.parametrize("method", [CATD(), WeightedMean(), WeightedMean(floor=1e-9)])
def test_a_worker_of_one_answer_does_not_capture_its_task(method):
    assert captured(method) < 4.0


def test_labels_of_a_worker_of_one_answer_do_not_decide():
    rows = [(task, f"w{i}", int(i < 2)) for task in range(10) for i in range(5)]
    rows.append((0, "lone", 1))
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    estimate = CATD(loss="zero-one").fit(Answers.from_frame(frame, Categorical([0, 1])))
    assert estimate.truths["truth"].tolist() == [0] * 10


def test_the_worst_worker_has_no_weight_but_decides_alone():
    frame = pd.DataFrame(
        [(task, worker, float(task)) for task in range(5) for worker in "uv"]
        + [(task, "bad", task + 10.0) for task in range(5)]
        + [("only", "bad", 3.0)],
        columns=["task", "worker", "label"],
    ).astype({"task": str})
    estimate = CRH(normaliser="max", divisor=None).fit(numbers_of(frame))
    found = estimate.truths.set_index("task")["truth"]
    assert found["only"] == pytest.approx(3.0)
    assert found[[str(task) for task in range(5)]].to_numpy() == pytest.approx(
        np.arange(5.0), abs=1e-4
    )


def test_tasks_in_different_units_count_alike():
    """With a divisor a task in thousands does not outweigh the others."""
    rng = np.random.default_rng(2)
    rows = []
    for task in range(30):
        unit = 1000.0 if task < 2 else 1.0
        for i in range(8):
            sigma = 0.1 if i < 4 else 2.0
            if task < 2:  # luck: the bad workers are near on the two wide tasks
                sigma = 0.1 if i >= 4 else 2.0
            rows.append((task, i, unit * (5.0 + sigma * rng.normal())))
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    good = {
        divisor: CRH(divisor=divisor).fit(frame, non_private=True).workers["weight"][:4].sum()
        for divisor in (None, "variance")
    }
    assert good[None] < 0.5 < good["variance"]


@pytest.mark.parametrize("method", [CRH(loss="zero-one"), CATD(loss="zero-one")])
def test_very_long_tasks_are_refused(method):
    """Weights are at most 1: as many of them as 2^31 add up to more than an integer holds."""
    known = Summary.of(LABELS.answers)
    partition = Partition.of(LABELS.answers)
    method.bind(evolve(known, longest_task=2**31 - 1)).sweep(partition, None, None)
    with pytest.raises(ParameterError, match="at most 2,147,483,648 answers; one has 2,147,483,6"):
        method.bind(evolve(known, longest_task=2**31)).sweep(partition, None, None)


def test_all_answers_equal_is_no_loss():
    frame = pd.DataFrame(
        [(task, worker, 7.0) for task in "abc" for worker in "uvw"],
        columns=["task", "worker", "label"],
    )
    for method in (CRH(), CRH(loss="absolute"), CATD()):
        assert method.fit(numbers_of(frame)).weight == pytest.approx(np.full(3, 1 / 3))


def test_the_loss_says_what_answers_are():
    for labels in (LABELS.answers, LABELS.answers.to_frame()):
        with pytest.raises(AnswerError, match=r"CRH needs numbers, .*--method crh:loss=zero-one"):
            CRH().fit(labels, non_private=True)
        with pytest.raises(AnswerError, match=r"CATD needs .* loss='absolute'; .*loss='zero-one'"):
            CATD(loss="absolute").fit(labels, non_private=True)
    numbers = CROWD.answers.with_values(Interval(low=0, high=9), CROWD.answers.values.astype(float))
    with pytest.raises(AnswerError, match="CATD needs labels"):
        CATD(loss="zero-one").fit(numbers)
    assert CRH().fit(CROWD.answers).truths["truth"].dtype == float
    assert set(CRH(loss="zero-one").fit(CROWD.answers).truths["truth"]) <= set(range(10))


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "cubic"},
        {"divisor": "mad"},
        {"divisor": "none"},
        {"normaliser": "mean"},
        {"per_answer": "yes"},
        {"tol": -1.0},
    ],
)
def test_bad_parameters_of_crh(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        CRH(**parameters)


@pytest.mark.parametrize(
    "parameters", [{"alpha": 0.0}, {"alpha": 1.0}, {"alpha": float("nan")}, {"smoothing": -1.0}]
)
def test_bad_parameters_of_catd(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        CATD(**parameters)


def test_weights_are_better_than_none():
    truths = CROWD.truths["label"].to_numpy()
    plain = np.abs(Mean().fit(CROWD.answers).estimates.truths - truths).mean()
    for method in (CRH(), CATD()):
        assert np.abs(method.fit(CROWD.answers).estimates.truths - truths).mean() < 0.9 * plain


def test_quantiles_are_found_once_per_number_of_answers(monkeypatch):
    asked = []

    def quantile(halves, chance):
        asked.append(np.size(halves))
        return gammaincinv(halves, chance)

    gammaincinv = catd_module.special.gammaincinv
    monkeypatch.setattr(catd_module.special, "gammaincinv", quantile)
    rows = [(task, worker, float(task)) for task in range(3) for worker in range(40)]
    rows.append((3, 0, 1.0))
    CATD().fit(numbers_of(pd.DataFrame(rows, columns=["task", "worker", "label"])))
    assert set(asked) == {2}


@pytest.mark.parametrize("method", [CRH(), CATD(loss="absolute")], ids=["crh", "catd"])
def test_whole_numbers_that_may_be_classes_are_asked_about(method):
    frame = pd.DataFrame({"task": [1, 1, 2], "worker": [*"uvu"], "label": [0, 3, 3]})
    named = f"labels are 0, 3, and .*--method {method.name}:loss=zero-one"
    for label in (frame["label"], frame["label"] * 1.0):
        with pytest.raises(AnswerError, match=named):
            method.fit(frame.assign(label=label), non_private=True)
    classes = method.set_params(loss="zero-one").fit(frame, non_private=True).truths["truth"]
    assert set(classes) <= {0, 3}
    numbers = [
        method.fit(frame.assign(label=frame["label"] + 0.5), non_private=True),
        method.fit(qc.Answers.from_frame(frame, qc.Ordinal([0, 1, 2, 3]))),
    ]
    assert all(estimate.truths["truth"].dtype == float for estimate in numbers)
    many = pd.DataFrame({"task": range(11), "worker": "u", "label": range(11)})
    assert method.fit(many, non_private=True).truths["truth"].tolist() == pytest.approx(
        [*range(11)]
    )
