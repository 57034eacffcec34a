"""Checks of ``research/docs/theory/truth-discovery.md``: prints its blocks, in order."""

import itertools

import numpy as np
import pandas as pd
from scipy import special

import quietcrowd as qc
from quietcrowd.inference import CRH

crowd = qc.make_crowd(
    kind="sparse", tasks=40, workers=30, sparsity=0.6, truths="uniform", random_state=0
)
answers = crowd.answers
counts = answers.answers_per_worker
fit = CRH(loss="absolute").fit(answers)
for task, truth in enumerate(fit.estimates.truths):
    rows = slice(answers.offsets[task], answers.offsets[task + 1])
    given, weights = answers.values[rows], fit.state.weights[answers.worker_codes[rows]]
    costs = [(weights * abs(given - x)).sum() for x in np.arange(0, 9.01, 0.25)]
    assert (weights * abs(given - truth)).sum() <= min(costs) + 1e-9


def objective(passes, **parameters):
    """Return J after a number of updates of the weights."""
    method = CRH(divisor=None, max_iter=passes, tol=0, **parameters)
    losses = method.fit(answers).error ** 2 * counts
    return losses.sum() * special.entr(losses / losses.sum()).sum()


for name, parameters in {
    "sum, not divided": {"per_answer": False},
    "sum, divided": {"per_answer": True},
    "largest, not divided": {"per_answer": False, "normaliser": "max"},
}.items():
    found = [objective(passes, **parameters) for passes in range(1, 9)]
    rises = sum(after > before + 1e-6 for before, after in itertools.pairwise(found))
    print(
        f"{name:21} J {found[0]:.2f} {found[1]:.2f} ... {found[-1]:.2f}, {rises} of 7 steps increase"
    )

rng = np.random.default_rng(0)
rows = [(task, worker, rng.normal(5, 1)) for task in range(20) for worker in "uv"]
two = pd.DataFrame([*rows, (20, "u", 5.0)], columns=["task", "worker", "label"])
for per_answer in (False, True):
    quality = CRH(divisor=None, per_answer=per_answer).fit(two, non_private=True).weight
    print(f"two workers, divided: {per_answer!s:5} weights {quality.round(3)}")


frame = answers.to_frame().astype({"label": float})
first = frame["task"] == frame["task"].iloc[0]
meters = frame.assign(label=frame["label"].where(~first, frame["label"] * 1000))
domain = qc.Interval(low=0, high=9000)
units = [qc.Answers.from_frame(table, domain) for table in (frame, meters)]
for loss, divisor in [
    ("squared", None),
    ("squared", "std"),
    ("squared", "variance"),
    ("absolute", None),
    ("absolute", "std"),
]:
    method = CRH(loss=loss, divisor=divisor)
    before, after = (method.fit(given).weight for given in units)
    change = abs(after / before - 1).max()
    print(f"{loss:8} / {divisor or 'none':8} largest change of a weight {change:4.0%}")


print("answers   lower quantile/n   upper quantile/n   distribution function/n")
for n in (1, 2, 5, 10, 100, 1000):
    lower, upper = 2 * special.gammaincinv(n / 2, [0.025, 0.975]) / n
    wrong = special.gammainc(n / 2, 0.025 / 2) / n
    print(f"{n:7} {lower:18.5f} {upper:18.5f} {wrong:25.1e}")


from quietcrowd.inference import CATD, GTM, WeightedMean


def lone_weight(method):
    """Return the weight of a lucky worker with one answer, relative to the median of six others."""
    rng = np.random.default_rng(7)
    rows = [(task, f"w{i}", rng.normal(5, 1)) for task in range(20) for i in range(6)]
    lucky = np.mean([label for task, _, label in rows if task == 0]) + 0.01
    frame = pd.DataFrame([*rows, (0, "lone", lucky)], columns=["task", "worker", "label"])
    fit = method.fit(qc.Answers.from_frame(frame, qc.Interval(low=-100, high=100)))
    quality = fit.workers.set_index("worker")["weight"]
    return quality["lone"] / quality.drop("lone").median()


for name, printed, smoothed in [
    ("CATD", CATD(smoothing=0), CATD()),
    ("Algorithm 1", WeightedMean(smoothing=0, floor=1e-9), WeightedMean(floor=1e-9)),
]:
    before, after = lone_weight(printed), lone_weight(smoothed)
    print(f"{name:11}  as printed {before:9.0f}   smoothed {after:.2f}")
print(f"CRH {lone_weight(CRH()):.2f}, GTM {lone_weight(GTM()):.2f}")


k, total = 0.1, counts.sum()


def cost(squares):
    """Return F."""
    return np.sqrt((squares + k * squares.sum() / total) * (counts + k)).sum()


history = WeightedMean(smoothing=k, tol=0, max_iter=12).fit(answers).history
assert all(after >= before - 1e-12 for before, after in itertools.pairwise(history))
for passes in (1, 2, 5):
    fit = WeightedMean(smoothing=k, tol=0, max_iter=passes).fit(answers)
    squares = (fit.error / 9) ** 2 * counts  # in units of the range of the answers, 0 to 9
    assert abs(cost(squares) / total + history[passes]) < 1e-12
sigma = np.sqrt((squares + k * squares.sum() / total) / (counts + k))
weights = 1 / sigma + k / total * (1 / sigma).sum()
for v, step in enumerate(1e-6 * np.eye(len(squares))):
    slope = (cost(squares + step) - cost(squares - step)) / 2e-6
    assert abs(2 * slope / weights[v] - 1) < 1e-6
print(f"F per answer {-history[0]:.5f} {-history[1]:.5f} ... {-history[-1]:.5f}")


history = GTM(tol=0, max_iter=30).fit(answers).history
assert all(after >= before - 1e-8 for before, after in itertools.pairwise(history))

tasks, workers = answers.task_codes, answers.worker_codes
by_task = pd.Series(answers.values.astype(float)).groupby(tasks)
mean, deviation = by_task.mean().to_numpy(), by_task.std(ddof=0).to_numpy()
z = (answers.values - mean[tasks]) / deviation[tasks]
truths = crowd.truths["label"].to_numpy()
for prior in (1.0, 0.01, 0.0001):  # alpha and beta
    for without, name in [(False, "with v"), (True, "without")]:
        variance = np.ones(len(answers.workers))
        for _ in range(200):
            v = 1 / (1 + np.bincount(tasks, 1 / variance[workers]))
            x = v * np.bincount(tasks, z / variance[workers])
            squares = (z - x[tasks]) ** 2 + (0 if without else v[tasks])
            variance = (2 * prior + np.bincount(workers, squares)) / (2 * (prior + 1) + counts)
        error = abs(mean + deviation * x - truths).mean()
        least = variance.min()
        print(f"alpha = beta = {prior:<6} {name}: least variance {least:.5f}, MAE {error:.2f}")


rng = np.random.default_rng(0)
clean = pd.DataFrame(
    [(task, i, rng.normal(task, 0.5)) for task in range(30) for i in range(9)],
    columns=["task", "worker", "label"],
)
broken = clean.copy()
broken.loc[4, "label"] = 1e6  # worker 4 on task 0
for outliers in (10.0, 1e12):
    fit = GTM(outliers=outliers).fit(broken, non_private=True)
    print(f"outliers={outliers:.0e}: truth of task 0 is {fit.estimates.truths[0]:.2f}")


rng = np.random.default_rng(1)
for n in (1, 2, 9, 100):
    agreed = np.append(np.zeros(n), 1.0)  # n answers of 0, and the truth is 1
    drawn = rng.normal(size=(1000, n + 1)) ** 3
    for numbers in (agreed, *drawn):
        assert np.ptp(numbers) ** 2 <= 2 * (n + 1) * np.var(numbers) * (1 + 1e-9)

rows = [(task, i, 5.5 + (task == "s") * i) for task in "ts" for i in range(3)]
agreeing = pd.DataFrame(rows, columns=["task", "worker", "label"])
known = pd.DataFrame({"task": ["t"], "label": [1e6]})
for method in (CRH(divisor="variance"), CATD(), GTM()):
    fit = method.fit(agreeing, gold=known, non_private=True)
    assert fit.truths.set_index("task").loc["t", "truth"] == 1e6
    assert np.isfinite(fit.weight).all()
    assert np.isfinite(fit.truths["truth"]).all()


first = qc.Answers.from_frame(frame, domain)
shuffled = qc.Answers.from_frame(frame.sample(frac=1, random_state=3), domain)
for method in (CRH(), CRH(loss="absolute"), CATD(), GTM(), WeightedMean()):
    fits = method.fit(first), method.fit(shuffled, n_jobs=3)
    before, after = (fit.truths.set_index("task")["truth"].sort_index() for fit in fits)
    assert (before == after).all()
