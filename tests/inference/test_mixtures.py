"""Reports of several mechanisms in one fit: the model knows the channel of each report."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference import MajorityVote
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::quietcrowd.exceptions.SimulatedNoiseWarning",
    "ignore::quietcrowd.exceptions.NoSignalWarning",
)

CROWD = qc.make_crowd(
    tasks=200, workers=100, answers_per_task=20, labels=["ant", "bee", "cat"], random_state=1
)
FRAME, DOMAIN = CROWD.answers.to_frame(), CROWD.answers.domain
WORKERS = np.random.default_rng(0).permutation(sorted(FRAME["worker"].unique()))
LOW, HIGH = (qc.RandomizedResponse(domain=DOMAIN, epsilon=epsilon) for epsilon in (0.5, 4.0))
SECRET = TwoLayerRandomizedResponse.from_claimed_epsilon(domain=DOMAIN, epsilon=1.0)


def sent(mechanism, rows, seed=0):
    answers = qc.Answers.from_frame(rows, DOMAIN)
    return answers if mechanism is None else mechanism.simulate(answers, random_state=seed)


def parts(*mechanisms, frame=FRAME):
    """Return the reports of a crowd in which each worker uses one of the mechanisms."""
    own = np.array_split(WORKERS, len(mechanisms))
    return [
        sent(one, frame[frame["worker"].isin(some)], seed)
        for seed, (one, some) in enumerate(zip(mechanisms, own, strict=True))
    ]


def posterior(estimate):
    return estimate.posterior.set_index(["task", "label"])["probability"].sort_index()


def test_equal_channels_give_what_one_gives():
    one = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.5)
    same = qc.RandomizedResponse(
        domain=DOMAIN, flip_probability=2 * one.channel.weights[0, 1] / 2**32
    )
    assert one.channel == same.channel
    assert one.to_dict() != same.to_dict()
    alone = one.simulate(CROWD.answers, random_state=1)
    second = np.arange(len(alone)) % 2 == 1  # every worker mixes
    both = [
        qc.Reports(table=alone.table.of_rows(rows), mechanism=mechanism, simulated=True)
        for mechanism, rows in [(one, ~second), (same, second)]
    ]
    found = [qc.NoiseAware(groups=False).fit(data) for data in (alone, both)]
    np.testing.assert_allclose(*map(posterior, found), atol=1e-6)
    for name in ("accuracy", "accuracy_low", "accuracy_high"):
        np.testing.assert_allclose(*(one.workers[name] for one in found), atol=0.01)


@pytest.mark.parametrize(
    "mechanisms",
    [
        (LOW, HIGH),
        (LOW, None),
        (qc.SubsetSelection(domain=DOMAIN, epsilon=1.0, set_size=2), HIGH),
        (SECRET, HIGH, None),
        (OptimalMechanism(domain=DOMAIN, epsilon=1.0), HIGH),
        (SECRET, TwoLayerRandomizedResponse.from_claimed_epsilon(domain=DOMAIN, epsilon=3.0)),
    ],
)
def test_every_kind_of_label_report_is_read_together(mechanisms):
    found = qc.NoiseAware().fit(parts(*mechanisms))
    # Half of the crowd has almost no noise: 4 of 200 truths are wrong, 14 never.
    assert qc.error_rate(found, CROWD.truths) < 0.07
    workers = found.workers.set_index("worker")
    frame = FRAME.merge(CROWD.truths.to_pandas(), on="task")
    right = (frame["label_x"] == frame["label_y"]).groupby(frame["worker"]).mean()
    assert workers["agreement"].isna().all()
    assert (workers["accuracy"] - right).abs().mean() < 0.13
    assert right.between(workers["accuracy_low"], workers["accuracy_high"]).mean() > 0.6
    assert workers["flag"].isna().all()


def test_an_epsilon_of_4_for_some_helps_and_one_of_one_half_does_no_harm():
    low, high = parts(LOW, HIGH)
    mixed, alone = (
        qc.error_rate(qc.NoiseAware().fit(data), CROWD.truths) for data in ([low, high], high)
    )
    assert mixed <= alone + 0.02
    assert mixed < qc.error_rate(qc.NoiseAware().fit(low), CROWD.truths) / 2


def test_the_order_of_the_reports_changes_no_bit():
    given = parts(LOW, HIGH, None)
    found = [
        qc.NoiseAware().fit(data, n_jobs=jobs) for data, jobs in [(given, 1), (given[::-1], 2)]
    ]
    pd.testing.assert_series_equal(*map(posterior, found))
    pd.testing.assert_frame_equal(*(one.workers for one in found))


def test_known_truths_and_further_reports():
    given = parts(LOW, HIGH)
    gold = CROWD.truths.slice(0, 40).to_pandas()
    found = qc.NoiseAware().fit(given, gold=gold)
    truths = found.truths.set_index("task")["truth"]
    assert (truths[gold["task"]].to_numpy() == gold["label"].to_numpy()).all()
    assert len(found.suggest_tasks(5)) == 5
    again = qc.NoiseAware().fit(given, found)
    assert qc.error_rate(again, CROWD.truths) <= 0.03


def test_new_tasks_come_from_workers_who_use_another_mechanism():
    new = FRAME["task"].isin(sorted(FRAME["task"].unique())[:40])
    first = qc.NoiseAware().fit(parts(LOW, HIGH, frame=FRAME[~new]))
    changed = parts(HIGH, LOW, frame=FRAME[new])
    found = qc.NoiseAware().extend(first, changed)
    assert len(found.truths) == 40
    assert qc.error_rate(found, CROWD.truths.slice(0, 40)) < 0.1
    with pytest.raises(ParameterError, match=r"join_reports\(…, mechanisms=\[…\]\)"):
        qc.NoiseAware().extend(first, changed[0])
    few = qc.NoiseAware().extend(first, qc.join_reports(changed[0], mechanisms=[LOW, HIGH]))
    assert set(few.truths["task"]) == set(changed[0].table.tasks.to_pylist())


def test_copies_are_found_among_workers_of_one_mechanism():
    """Without the search, 12 copies of a guesser with little noise outweigh the others."""
    rng, names = np.random.default_rng(1), np.array(DOMAIN.labels)
    truths, accuracy = rng.integers(3, size=300), rng.uniform(0.55, 0.9, 40)
    source = np.where(rng.random(300) < 0.2, truths, rng.integers(3, size=300))
    right = rng.random((40, 300)) < accuracy[:, np.newaxis]
    honest = np.where(right, truths, rng.integers(3, size=(40, 300)))
    answers = np.concatenate([honest, np.tile(source, (12, 1))])
    rows = np.meshgrid(np.arange(300), np.arange(52))
    frame = pd.DataFrame({"task": rows[0].ravel(), "worker": rows[1].ravel()})
    frame["label"] = names[answers.ravel()]
    careful = (frame["worker"] < 40) & (frame["worker"] % 4 > 0)
    given = [
        sent(qc.RandomizedResponse(domain=DOMAIN, epsilon=epsilon), frame[some])
        for epsilon, some in [(1.0, careful), (4.0, ~careful)]
    ]
    found = qc.NoiseAware().fit(given)
    flags = found.workers.set_index("worker")["flag"]
    assert (flags[flags.index >= 40] == "group 1").all()
    assert flags[flags.index < 40].isna().all()
    known = pd.DataFrame({"task": range(300), "label": names[truths]})
    missed = qc.error_rate(qc.NoiseAware(groups=False).fit(given), known)
    assert qc.error_rate(found, known) < missed / 2


def test_other_methods_name_noise_aware():
    with pytest.raises(
        AnswerError, match=r"MajorityVote cannot read reports of several.*NoiseAware"
    ):
        MajorityVote().fit(parts(LOW, HIGH))


NUMBERS = qc.Interval(low=0, high=10)


def number_crowd(seed):
    rng = np.random.default_rng(seed)
    truths, sizes = np.clip(rng.normal(5, 2, 120), 0, 10), rng.choice([0.4, 2.5], 100)
    rows = [
        (task, worker, float(np.clip(truths[task] + rng.normal(0, sizes[worker]), 0, 10)))
        for worker in range(100)
        for task in rng.choice(120, 12, replace=False)
    ]
    known = pd.DataFrame({"task": range(120), "label": truths})
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), known


def laplace(epsilon, step=None):
    return qc.LaplaceMechanism(domain=NUMBERS, epsilon=epsilon, fill=None, step=step)


def number_parts(frame, *mechanisms, domain=NUMBERS):
    own = np.array_split(np.random.default_rng(3).permutation(100), len(mechanisms))
    return [
        answers if one is None else one.simulate(answers, random_state=seed)
        for seed, (one, some) in enumerate(zip(mechanisms, own, strict=True))
        for answers in [qc.Answers.from_frame(frame[frame["worker"].isin(some)], domain)]
    ]


@pytest.mark.parametrize(
    "mechanism", [laplace(1.0), qc.PiecewiseMechanism(domain=NUMBERS, epsilon=2)]
)
def test_equal_noise_of_numbers_gives_what_one_gives(mechanism):
    same = evolve(mechanism, step=mechanism.channel.parts[0].describe()["grid"]["step"])
    assert same.to_dict() != mechanism.to_dict()
    alone = mechanism.simulate(qc.Answers.from_frame(number_crowd(1)[0], NUMBERS), random_state=1)
    second = np.arange(len(alone)) % 2 == 1  # every worker mixes
    both = [
        qc.Reports(table=alone.table.of_rows(rows), mechanism=one, simulated=True)
        for one, rows in [(mechanism, ~second), (same, second)]
    ]
    one, other = (qc.NoiseAware().fit(data).truths for data in (alone, both))
    pd.testing.assert_frame_equal(one, other, rtol=1e-9)


@pytest.mark.parametrize(
    "mechanisms",
    [
        (laplace(0.5), laplace(4.0)),
        (qc.PiecewiseMechanism(domain=NUMBERS, epsilon=0.5), laplace(4.0)),
        (laplace(0.5), None),
        (
            DuchiMechanism(domain=NUMBERS, epsilon=1.0),
            HybridMechanism(domain=NUMBERS, epsilon=3.0),
            laplace(4.0),
        ),
    ],
)
def test_every_kind_of_number_is_read_together(mechanisms):
    errors = []
    for seed in range(4):
        frame, truths = number_crowd(seed)
        given = number_parts(frame, *mechanisms)
        found = [qc.NoiseAware().fit(data) for data in (given, *given)]
        known = [truths[truths["task"].isin(one.truths["task"])] for one in found]
        errors.append(list(map(qc.mean_absolute_error, found, known)))
        assert found[0].truths["standard_error"].notna().all()
    mixed, *alone = np.mean(errors, axis=0)
    assert mixed < min(alone) + 0.03


def test_numbers_and_levels_of_a_mixture():
    domain = qc.Ordinal(range(11))
    frame, truths = number_crowd(5)
    noisy = qc.LaplaceMechanism(domain=domain, epsilon=2.0, fill=None)
    given = number_parts(frame.round({"label": 0}), noisy, None, domain=domain)
    found = qc.NoiseAware().fit(given, gold=truths.head(20))
    assert qc.mean_absolute_error(found, truths) < 1.0
    assert (found.truths.set_index("task")["truth"][range(20)] == truths["label"][:20]).all()
    order = qc.NoiseAware().fit(given[::-1], gold=truths.head(20), n_jobs=2)
    pd.testing.assert_frame_equal(found.truths, order.truths)
    more = qc.NoiseAware().fit(given, found)
    assert len(more.suggest_tasks(3)) == 3


def test_new_tasks_of_numbers():
    frame, truths = number_crowd(6)
    first, second = frame["task"] < 90, frame["task"] >= 90
    found = qc.NoiseAware().fit(number_parts(frame[first], laplace(2.0), laplace(4.0)))
    new = qc.NoiseAware().extend(found, number_parts(frame[second], laplace(4.0), laplace(2.0)))
    assert qc.mean_absolute_error(new, truths[90:]) < 2.0


@pytest.mark.parametrize(
    "other",
    [
        qc.RandomizedResponse(domain=qc.Ordinal(range(11)), epsilon=1.0),
        qc.LaplaceMechanism(domain=qc.Ordinal(range(1000)), epsilon=1.0, fill=None, step=8.0),
    ],
)
def test_labels_and_numbers_or_other_grids_are_not_read_together(other):
    domain = other.domain
    frame = number_crowd(0)[0].round({"label": 0})
    first = qc.LaplaceMechanism(domain=domain, epsilon=1.0, fill=None)
    with pytest.raises(AnswerError, match="cannot read these reports together: LaplaceMechanism"):
        qc.NoiseAware().fit(number_parts(frame, first, other, domain=domain))


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_rounds_of_a_mixture(kind):
    """In one round no worker uses the second mechanism; an estimate of few reports goes on."""
    rng = np.random.default_rng(2)
    sizes, accuracy = rng.choice([0.4, 2.0], 100), rng.uniform(0.5, 0.95, 100)
    menu = (LOW, HIGH) if kind == "labels" else (laplace(1.0), laplace(4.0))
    truths = rng.integers(3, size=60) if kind == "labels" else rng.uniform(3, 7, 60)
    method, estimate, errors = qc.NoiseAware(over_time="follow"), None, []
    for number in range(4):
        tasks, workers = (
            np.repeat(np.arange(60), 5),
            rng.permuted(np.tile(np.arange(100), (60, 1)), axis=1)[:, :5].ravel(),
        )
        if kind == "labels":
            right = rng.random(300) < accuracy[workers]
            wrong = (truths[tasks] + rng.integers(1, 3, 300)) % 3
            labels = np.array(DOMAIN.labels)[np.where(right, truths[tasks], wrong)]
        else:
            truths = np.clip(truths + rng.normal(0, 0.1, 60), 0, 10)
            labels = np.clip(truths[tasks] + rng.normal(0, sizes[workers]), 0, 10)
        frame = pd.DataFrame({"task": tasks, "worker": workers, "label": labels})
        high = (frame["worker"] < 50) & (number != 1)
        given = qc.join_reports(
            *(
                mechanism.simulate(
                    qc.Answers.from_frame(frame[some], mechanism.domain), random_state=number
                )
                for mechanism, some in zip(menu, (~high, high), strict=True)
                if some.any()
            ),
            mechanisms=menu,
        )
        if estimate is None:
            estimate = method.fit(given, round=1)
        else:
            estimate = method.extend(estimate, given, round=number + 1)
        found = estimate.truths.set_index("task")["truth"].sort_index().to_numpy()
        wrong = found != np.array(DOMAIN.labels)[truths] if kind == "labels" else found - truths
        errors.append(np.abs(wrong).mean())
    assert errors[-1] < errors[0]
