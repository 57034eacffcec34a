"""Agreement among workers whose tasks have options of their own."""

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.campaign.results.agreement import judge_crowd
from quietcrowd.campaign.results.option_rows import by_options
from quietcrowd.campaign.results.reports import MemoryRows

TASKS, WORKERS = 300, 20
SIZES = [2 + task % 4 for task in range(TASKS)]
OPTIONS = {f"t{task}": [f"{size} {n}" for n in range(size)] for task, size in enumerate(SIZES)}


def crowd(seed, *, alike):
    """Return reports of workers of whom each gives a task's first option, or any, with a chance."""
    rng = np.random.default_rng(seed)
    sizes = np.repeat(SIZES, WORKERS)
    guesses = rng.integers(0, sizes)
    positions = np.where(rng.random(len(sizes)) < alike, 0, guesses)
    names = np.repeat(list(OPTIONS), WORKERS)
    frame = pd.DataFrame(
        {
            "task": names,
            "worker": np.tile(np.arange(WORKERS), TASKS),
            "label": [OPTIONS[name][one] for name, one in zip(names, positions, strict=True)],
        }
    )
    answers = qc.Answers.from_frame(frame, options=OPTIONS)
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=1.5)
    return answers, mechanism.simulate(answers, random_state=rng)


def shares_of_equal_pairs(answers):
    frame = answers.to_frame("pandas")
    counts = frame.groupby(["task", "label"], observed=True).size()
    return (counts * (counts - 1)).sum() / (TASKS * WORKERS * (WORKERS - 1))


@pytest.mark.parametrize("alike", [0.3, 0.8])
def test_the_agreement_of_answers_is_found_behind_the_noise_of_each_size(alike):
    answers, reports = crowd(1, alike=alike)
    found = judge_crowd(MemoryRows(reports=reports))
    assert found.agreement.reports == pytest.approx(shares_of_equal_pairs(reports.table))
    true = shares_of_equal_pairs(answers)
    assert found.agreement.reports < true
    error = found.agreement.answers_error
    assert 0.01 < error < 0.03
    assert abs(found.agreement.answers - true) < 3 * error
    assert not len(found.too_consistent)


def test_who_does_not_randomize_is_found():
    answers, reports = crowd(2, alike=1.0)
    honest, table = answers.canonical, reports.table
    values = np.where(table.worker_codes == 3, honest.values, table.values)
    mixed = table.with_values(table.domain, values.astype(table.values.dtype))
    cheating = qc.mechanisms.Reports(table=mixed, mechanism=reports.mechanism, simulated=True)
    assert judge_crowd(MemoryRows(reports=cheating)).too_consistent.tolist() == [3]


def test_each_part_has_the_positions_among_equally_many_options():
    _, reports = crowd(3, alike=0.5)
    rows = MemoryRows(reports=reports)
    parts = by_options(rows)
    assert [part.domain.size for part in parts] == [2, 3, 4, 5]
    assert sum(part.per_task.sum() for part in parts) == len(rows)
    assert all((part.per_task == WORKERS).all() for part in parts)
    table = reports.table
    for part in parts:
        [block] = part.blocks()
        chosen = part.chosen[block.tasks]
        labels = table.domain.decode(table.options.at(chosen, block.values)).to_pylist()
        listed = [OPTIONS[table.tasks[int(task)].as_py()] for task in chosen]
        assert all(label in one for label, one in zip(labels, listed, strict=True))
