"""Flags of workers: what they find in crowds with some who are not honest, and in honest ones."""

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.inference.labels.flags import (
    CONSTANT,
    OPPOSITE,
    RANDOM,
    UNRANDOMIZED,
    honest_flags,
)

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

EPSILON = 3.0
TASKS, WORKERS, PER_TASK = 500, 50, 10
BAD = 10


def flags_of(how, labels="ab", seed=0, epsilon=EPSILON):
    """Return the flags of a crowd whose first workers answer in a way of their own."""
    rng = np.random.default_rng(seed)
    crowd = qc.make_crowd(
        tasks=TASKS,
        workers=WORKERS,
        answers_per_task=PER_TASK,
        labels=list(labels),
        random_state=seed,
    )
    frame = crowd.answers.to_frame()
    mine = frame["worker"] < BAD
    codes = frame["label"].map({label: code for code, label in enumerate(labels)}).to_numpy()
    changed = how(rng, frame["worker"].to_numpy(), codes, len(labels))
    frame["label"] = np.array(list(labels))[np.where(mine, changed, codes)]
    answers = qc.Answers.from_frame(frame, crowd.answers.domain)
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=epsilon)
    reports = mechanism.simulate(answers, random_state=rng, participation_is_public=True)
    workers = qc.NoiseAware().fit(reports).workers.sort_values("worker")
    return workers["flag"].to_numpy()


def constant(_, workers, __, labels):
    return workers % labels


def at_random(rng, workers, __, labels):
    return rng.integers(0, labels, len(workers))


def turned(_, __, codes, labels):
    return (codes + 1) % labels


@pytest.mark.parametrize("labels", ["ab", "abcd"])
@pytest.mark.parametrize(("how", "flag"), [(constant, CONSTANT), (at_random, RANDOM)])
def test_workers_who_do_not_answer(how, flag, labels):
    found = flags_of(how, labels)
    assert (found[:BAD] == flag).mean() >= 0.4
    assert pd.notna(found[BAD:]).mean() <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [qc.RandomizedResponse, qc.SubsetSelection])
def test_those_who_always_give_one_label_are_accused_and_nobody_else(mechanism):
    """They stand scattered among the others, the first and the last one among them."""
    steady = {0, 3, 7, 8, 15, 22, 29}
    crowd = qc.make_crowd(
        kind="guessing",
        tasks=300,
        workers=30,
        answers_per_task=20,
        labels=list("abcdef"),
        random_state=6,
    )
    frame = crowd.answers.to_frame()
    frame.loc[frame["worker"].astype(int).isin(steady), "label"] = "c"
    answers = qc.Answers.from_frame(frame, crowd.answers.domain)
    made = mechanism(domain=answers.domain, epsilon=4.0)
    reports = made.simulate(answers, random_state=1, participation_is_public=True)
    workers = qc.NoiseAware().fit(reports).workers
    accused = workers.loc[workers["flag"] == CONSTANT, "worker"]
    assert set(accused.astype(int)) == steady


def test_workers_who_turn_two_labels():
    found = flags_of(turned)
    assert (found[:BAD] == OPPOSITE).mean() >= 0.8
    assert pd.notna(found[BAD:]).mean() <= 0.1


def test_workers_who_skip_the_randomiser():
    """At epsilon 1 a report says the truth three times in four at most."""
    rng = np.random.default_rng(3)
    crowd = qc.make_crowd(
        tasks=TASKS,
        workers=WORKERS,
        answers_per_task=PER_TASK,
        accuracy=(0.9, 0.95),
        random_state=3,
    )
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    reports = mechanism.simulate(crowd.answers, random_state=rng, participation_is_public=True)
    plain = crowd.answers.to_frame().set_index(["task", "worker"])["label"]
    table = reports.table
    tasks = table.tasks.take(table.task_codes).to_pylist()
    workers = table.workers.take(table.worker_codes).to_pylist()
    told = plain.loc[list(zip(tasks, workers, strict=True))].map({"no": 0, "yes": 1}).to_numpy()
    values = np.where(np.array(workers) < BAD, told, table.values).astype(table.values.dtype)
    kept = evolve(reports, table=evolve(table, values=values))
    found = qc.NoiseAware().fit(kept).workers.sort_values("worker")["flag"].to_numpy()
    assert (found[:BAD] == UNRANDOMIZED).mean() >= 0.8
    assert not (found[BAD:] == UNRANDOMIZED).any()


def test_plain_answers_and_single_labels():
    crowd = qc.make_crowd(tasks=30, workers=10, random_state=1)
    assert UNRANDOMIZED not in set(qc.NoiseAware().fit(crowd.answers).workers["flag"])
    frame = crowd.answers.to_frame().assign(label="no")
    alone = qc.Answers.from_frame(frame, qc.Categorical(["no"]))
    assert qc.NoiseAware().fit(alone).workers["flag"].isna().all()


def test_few_answers_accuse_nobody_of_random_or_opposite_labels():
    worth, accuracy = np.array([19.9, 20.0, 19.9, 20.0]), np.array([0.5, 0.5, 0.0, 0.0])
    flags = honest_flags(2, np.zeros(4), accuracy, worth)
    assert flags.tolist() == [None, RANDOM, None, OPPOSITE]
