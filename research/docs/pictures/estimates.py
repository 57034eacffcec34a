"""Pictures of the pages on inference, drawn from what the library computes on small crowds."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from chart import bar_chart, line_chart
from scipy import special

import quietcrowd as qc
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.inference import CATD, CRH, GTM, MOON, WeightedMean, ignores_noise
from quietcrowd.inference.numbers.normal_laplace import NormalLaplace
from quietcrowd.survey import estimate_shares
from quietcrowd.synthesis.weights import hampel_psi
from quietcrowd_research import bounds

YES_NO = qc.Categorical(["no", "yes"])
EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0)


def error_curves(crowds, methods, score, mechanism):
    """Return the mean error of each method over crowds, by epsilon."""
    found = {name: [] for name in methods}
    for epsilon in EPSILONS:
        errors = {name: [] for name in methods}
        for seed, crowd in enumerate(crowds):
            device = mechanism(domain=crowd.answers.domain, epsilon=epsilon)
            reports = device.simulate(crowd.answers, random_state=seed)
            for name, method in methods.items():
                with ignores_noise():
                    errors[name].append(score(method.fit(reports), crowd.truths))
        for name, values in errors.items():
            found[name].append(float(np.mean(values)))
    return {name: (EPSILONS, values) for name, values in found.items()}


def noise_aware_labels():
    crowds = [
        qc.make_crowd(
            tasks=300,
            workers=60,
            answers_per_task=10,
            labels=range(4),
            accuracy=(0.3, 0.9),
            random_state=seed,
        )
        for seed in range(4)
    ]
    methods = {
        "NoiseAware": qc.NoiseAware(shared_errors=False),
        "Dawid-Skene": qc.DawidSkene(),
        "majority": qc.MajorityVote(),
    }
    series = error_curves(crowds, methods, qc.error_rate, qc.RandomizedResponse)
    return line_chart(
        series,
        x="privacy loss ε of an answer (4 labels, 10 answers per task)",
        y="wrong truths",
        y_range=(0, 0.8),
    )


def noise_aware_numbers():
    crowds = [
        qc.make_crowd(kind="sensors", tasks=60, workers=60, random_state=seed) for seed in range(2)
    ]
    methods = {"NoiseAware": qc.NoiseAware(shared_errors=False), "MOON": MOON(), "mean": qc.Mean()}

    def device(*, domain, epsilon):
        return qc.LaplaceMechanism(domain=domain, epsilon=epsilon, fill=None)

    series = error_curves(crowds, methods, qc.mean_absolute_error, device)
    return line_chart(
        series, x="privacy loss ε of an answer (60 answers per task)", y="mean absolute error"
    )


def dawid_skene():
    crowd = qc.make_crowd(
        tasks=300,
        workers=25,
        answers_per_task=6,
        labels=range(3),
        accuracy=(0.3, 0.9),
        random_state=3,
    )
    series = {}
    for name, one_coin in (("one matrix per worker", False), ("one coin per worker", True)):
        history = qc.DawidSkene(one_coin=one_coin).fit(crowd.answers).history
        series[name] = list(range(1, len(history) + 1)), [float(value) for value in history]
    low = min(min(values) for _, values in series.values())
    return line_chart(series, x="step", y="objective per answer", y_range=(low - 0.005, -1.015))


def glad():
    x = np.linspace(-6, 6, 121)
    series = {"log σ(−x)": (x, -np.logaddexp(0, x))}
    for xi in (0.5, 3.0):
        slope = np.tanh(xi / 2) / (4 * xi)
        bound = -np.logaddexp(0, xi) - (x - xi) / 2 - slope * (x**2 - xi**2)
        series[f"parabola that touches at ξ = {xi:g}"] = x, bound
    return line_chart(series, x="x = ability × easiness", y="logarithm", y_range=(-7, 1))


def groups():
    """Agreement of each worker with the 12 copies, minus that with the others."""
    rng = np.random.default_rng(1)
    truths, source = rng.integers(4, size=(2, 300))
    honest = np.arange(52)[:, np.newaxis] < 40
    skill = np.where(honest, rng.uniform(0.4, 0.8, (52, 1)), 0.9)
    follows = rng.random((52, 300)) < skill
    answers = np.where(follows, np.where(honest, truths, source), rng.integers(4, size=(52, 300)))
    device = qc.RandomizedResponse(domain=qc.Ordinal(range(4)), epsilon=3.0)
    task, worker = np.nonzero(np.ones((300, 52)))
    frame = pd.DataFrame({"task": task, "worker": worker, "label": answers[worker, task]})
    reports = device.simulate(qc.Answers.from_frame(frame, device.domain), random_state=1)
    table = reports.to_frame().pivot(index="worker", columns="task", values="label").to_numpy()
    one_hot = (table[:, :, np.newaxis] == np.arange(4)).astype(float)
    one_hot -= one_hot.mean(axis=1, keepdims=True)
    agree = np.einsum("itk,jtk->ij", one_hot, one_hot) / 300
    np.fill_diagonal(agree, np.nan)
    rest, copies = np.nanmean(agree[:, :40], axis=1), np.nanmean(agree[:, 40:], axis=1)
    return line_chart(
        {},
        dots={
            "honest workers": (rest[:40], copies[:40]),
            "copies of one source": (rest[40:], copies[40:]),
        },
        x="agreement with the honest workers beyond chance (ε = 3)",
        y="agreement with the copies",
        x_range=(-0.05, 0.4),
        y_range=(-0.1, 0.5),
    )


def new_tasks():
    crowd = qc.make_crowd(tasks=600, workers=60, answers_per_task=8, random_state=5)
    frame = crowd.answers.to_frame()
    order = frame["task"].unique()
    parts = [frame[frame["task"].isin(chosen)] for chosen in np.array_split(order, 10)]
    method = qc.WeightedVote()
    as_answers = [qc.Answers.from_frame(part, crowd.answers.domain) for part in parts]
    estimate = method.fit(as_answers[0])
    truths = crowd.truths.to_pandas().set_index("task")["label"]
    sizes, extended, fresh = [], [], []
    seen = parts[0]
    for part, answers in zip(parts[1:], as_answers[1:], strict=True):
        estimate = method.extend(estimate, answers)
        seen = pd.concat([seen, part])
        whole = method.fit(qc.Answers.from_frame(seen, crowd.answers.domain))
        right = truths[part["task"].unique()].to_frame().reset_index()
        sizes.append(seen["task"].nunique())
        extended.append(qc.error_rate(estimate, right))
        fresh.append(qc.error_rate(whole, right))
    return line_chart(
        {"extended nine times": (sizes, extended), "fit to everything": (sizes, fresh)},
        x="tasks so far",
        y="wrong truths, newest 60 tasks",
        y_range=(0, 0.2),
    )


def normal_laplace():
    x = np.linspace(-5, 5, 201)
    series = {}
    for sigma in (0.1, 1.0, 3.0):
        series[f"σ/b = {sigma:g}"] = x, np.exp(NormalLaplace(sigma, 1.0).log_density(x))
    return line_chart(
        series, x="distance of a report from the truth, in scales b of the noise", y="density"
    )


def moon():
    ratios = np.geomspace(0.01, 10, 60)
    information = NormalLaplace(ratios, 1.0).fisher_information
    saved = 1 - 1 / np.sqrt(information * (ratios**2 + 2))
    return line_chart(
        {"largest saving": (ratios, saved)},
        x="σ/b: errors of workers over the noise",
        y="saved root mean square error",
        log="x",
        y_range=(0, 0.3),
    )


def comparisons():
    p = np.linspace(0.02, 0.98, 97)
    series = {}
    for epsilon in (1.0, 2.0, 4.0):
        (a, _), (b, _) = qc.RandomizedResponse(domain=YES_NO, epsilon=epsilon).channel.probabilities
        q = a * p + b * (1 - p)
        series[f"ε = {epsilon:g}"] = p, (a - b) ** 2 * p**2 * (1 - p) ** 2 / (q * (1 - q))
    series["no noise"] = p, p * (1 - p)
    return line_chart(
        series,
        x="probability that left is preferred",
        y="information per comparison",
        x_range=(0, 1),
    )


def planning():
    people = (50, 100, 200, 400)
    plan = qc.plan(
        tasks=60,
        workers=people,
        answers=20,
        domain=YES_NO,
        mechanisms="one-layer",
        total_epsilon=(10, 40),
        draws=5,
    )
    series = {}
    for total in (10, 40):
        rows = [row for row in plan.rows if abs(row.total_epsilon - total) < 0.5]
        series[f"total ε = {total}"] = people, [row.error for row in rows]
        if total == 10:
            intervals = [(row.workers, row.low, row.high) for row in rows]
    return line_chart(
        series,
        intervals=intervals,
        x="people",
        y="expected wrong truths",
        log="x",
        x_range=(50, 400),
        y_range=(0, 0.6),
    )


def rounds():
    rng = np.random.default_rng(3)
    tasks, workers, count = 60, 100, 15
    domain = YES_NO
    device = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    accuracy = rng.uniform(0.45, 0.95, workers)
    truths = rng.integers(2, size=tasks)
    follow = qc.NoiseAware(over_time="follow", shared_errors=False)
    alone = qc.NoiseAware(shared_errors=False)
    followed, single = [], []
    estimate = None
    for number in range(1, count + 1):
        truths = np.where(rng.random(tasks) < 0.05, 1 - truths, truths)
        worker = np.repeat(np.arange(workers), 10)
        task = np.concatenate([rng.permutation(tasks)[:10] for _ in range(workers)])
        right = rng.random(len(task)) < accuracy[worker]
        values = np.array(["no", "yes"])[np.where(right, truths[task], 1 - truths[task])]
        frame = pd.DataFrame({"task": [f"t{t}" for t in task], "worker": worker, "label": values})
        reports = device.simulate(qc.Answers.from_frame(frame, domain), random_state=number)
        known = pd.DataFrame(
            {"task": [f"t{t}" for t in range(tasks)], "label": np.array(["no", "yes"])[truths]}
        )
        estimate = (
            follow.fit(reports, round=number)
            if estimate is None
            else follow.extend(estimate, reports, round=number)
        )
        followed.append(qc.error_rate(estimate, known))
        single.append(qc.error_rate(alone.fit(reports), known))
    numbers = list(range(1, count + 1))
    return line_chart(
        {"truths followed": (numbers, followed), "each round alone": (numbers, single)},
        x="round (ε = 1 per answer)",
        y="wrong truths",
        y_range=(0, 0.5),
    )


def shared_errors():
    x = np.linspace(-8, 8, 161)
    series = {"independent errors": (x, special.expit(x))}
    for slope, shared in ((0.5, 0.0), (0.5, 0.1)):
        s = special.expit(slope * x)
        series[f"slope {slope:g}, shared {shared:g}"] = x, (1 - shared) * s + shared * (1 - s)
    return line_chart(
        series, x="log-odds of the apparent truth", y="probability of the truth", y_range=(0, 1)
    )


def surveys():
    people = (20, 50, 100, 200, 500, 1000, 2000, 5000)
    series = {}
    for epsilon in (0.5, 1.0, 3.0, None):
        widths = []
        for n in people:
            labels = (["no", "yes", "yes", "no", "yes"] * n)[:n]
            frame = pd.DataFrame({"task": "robin", "worker": range(n), "label": labels})
            answers = qc.Answers.from_frame(frame, domain=YES_NO)
            if epsilon is None:
                shares = estimate_shares(answers)
            else:
                device = qc.RandomizedResponse(domain=YES_NO, epsilon=epsilon)
                shares = estimate_shares(device.simulate(answers, random_state=1))
            widths.append(float(shares["high"][1] - shares["low"][1]))
        series["no noise" if epsilon is None else f"ε = {epsilon:g}"] = people, widths
    return line_chart(
        series,
        x="people",
        y="width of the interval of a share",
        log="xy",
        x_range=(20, 5000),
        y_range=(0.01, 1.2),
    )


def lone_weight(method):
    """Return the weight of a lucky worker with one answer, over the median of six others."""
    rng = np.random.default_rng(7)
    rows = [(task, f"w{i}", rng.normal(5, 1)) for task in range(20) for i in range(6)]
    lucky = np.mean([label for task, _, label in rows if task == 0]) + 0.01
    frame = pd.DataFrame([*rows, (0, "lone", lucky)], columns=["task", "worker", "label"])
    fit = method.fit(qc.Answers.from_frame(frame, qc.Interval(low=-100, high=100)))
    quality = fit.workers.set_index("worker")["weight"]
    return float(quality["lone"] / quality.drop("lone").median())


def truth_discovery():
    methods = {
        "CATD, printed": CATD(smoothing=0),
        "CATD, smoothed": CATD(),
        "Algorithm 1, printed": WeightedMean(smoothing=0, floor=1e-9),
        "Algorithm 1, smoothed": WeightedMean(floor=1e-9),
        "CRH": CRH(),
        "GTM": GTM(),
    }
    bars = {name: {"weight": lone_weight(method)} for name, method in methods.items()}
    return bar_chart(
        bars,
        x="weight of a worker with one lucky answer, median of others = 1",
        parts=["weight"],
        log=True,
        told=lambda value: f"{value:,.3g}",
    )


def crowd_densities():
    """Influence of a claim by its distance: Hampel's, against the square."""
    distance = np.linspace(0, 8, 161)
    cuts = (1.0, 2.0, 5.0)
    return line_chart(
        {
            "Hampel, cuts 1, 2, 5": (distance, hampel_psi(distance, *cuts)),
            "square": (distance, distance),
        },
        x="distance of a claim from the others",
        y="influence on the density",
        y_range=(0, 3),
    )


def weighted_vote():
    p = np.linspace(0.5, 0.99, 50)
    crowds = [[value] * 3 for value in p]
    return line_chart(
        {
            "exact": (p, [bounds.vote_error(crowd) for crowd in crowds]),
            "Chernoff bound": (p, [bounds.vote_error_bound(crowd) for crowd in crowds]),
            "printed bound": (p, [bounds.claimed_vote_error_bound(crowd) for crowd in crowds]),
        },
        x="accuracy of each of three workers",
        y="error of the vote",
        y_range=(0, 1),
        x_range=(0.5, 1),
    )


def error_bounds():
    workers = list(range(1, 16, 2))
    crowds = [[0.9] * count for count in workers]
    return line_chart(
        {
            "exact": (workers, [bounds.vote_error(crowd) for crowd in crowds]),
            "valid bound": (workers, [bounds.vote_error_bound(crowd) for crowd in crowds]),
            "printed bound": (
                workers,
                [bounds.claimed_vote_error_bound(crowd) for crowd in crowds],
            ),
        },
        x="workers of accuracy 0.9",
        y="error of the vote",
        log="y",
        y_range=(1e-14, 1),
    )


def workers_quality():
    crowd = qc.make_crowd(tasks=200, workers=60, answers_per_task=30, random_state=0)
    frame = crowd.answers.to_frame().merge(crowd.truths.to_pandas(), on="task")
    right = (frame["label_x"] == frame["label_y"]).groupby(frame["worker"]).mean()
    device = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    with ignores_noise():
        workers = (
            qc.WeightedVote()
            .fit(device.simulate(crowd.answers, random_state=0))
            .workers.set_index("worker")
            .loc[right.index]
        )
    return line_chart(
        {"equal": ([0.4, 1], [0.4, 1])},
        dots={
            "accuracy, with 90 % interval": (right, workers["accuracy"]),
            "agreement": (right, workers["agreement"]),
        },
        intervals=list(zip(right, workers["accuracy_low"], workers["accuracy_high"], strict=True)),
        x="fraction of the worker's answers that are right",
        y="estimate from reports at ε = 1",
        x_range=(0.4, 1),
        y_range=(0.4, 1),
    )


def quiet(picture):
    """Return the function without warnings: noise is simulated on purpose."""

    def drawn():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QuietcrowdWarning)
            return picture()

    return drawn


PICTURES = {
    name: quiet(picture)
    for name, picture in {
        "theory-crowd-densities": crowd_densities,
        "theory-dawid-skene": dawid_skene,
        "theory-error-bounds": error_bounds,
        "theory-glad": glad,
        "theory-groups": groups,
        "theory-moon": moon,
        "theory-new-tasks": new_tasks,
        "theory-noise-aware-labels": noise_aware_labels,
        "theory-noise-aware-numbers": noise_aware_numbers,
        "theory-normal-laplace": normal_laplace,
        "theory-paired-comparisons": comparisons,
        "theory-planning": planning,
        "theory-rounds": rounds,
        "theory-shared-errors": shared_errors,
        "theory-surveys": surveys,
        "theory-truth-discovery": truth_discovery,
        "theory-weighted-vote": weighted_vote,
        "theory-workers-quality": workers_quality,
    }.items()
}
