"""A report counts once in a fit, however often it was sent."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, DroppedRowsWarning, SimulatedNoiseWarning
from quietcrowd.mechanisms.sent_again import Marks

ABC = ["a", "b", "c"]
TASKS, WORKERS = [f"{place:03}" for place in range(60)], 40
MECHANISM = qc.RandomizedResponse(domain=qc.Categorical(ABC), epsilon=1.0)


def crowd(seed):
    """Return the truths, and the reports of a crowd of which each worker answers half of all."""
    rng = np.random.default_rng(seed)
    truths, accuracy = rng.integers(3, size=len(TASKS)), rng.uniform(0.5, 0.95, WORKERS)
    rows = [
        (TASKS[task], f"w{worker:02}", ABC[right if rng.random() < accuracy[worker] else wrong])
        for worker in range(WORKERS)
        for task in rng.choice(len(TASKS), 30, replace=False)
        for right, wrong in [(truths[task], rng.integers(3))]
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    answers = qc.Answers.from_frame(frame, MECHANISM.domain, tasks=TASKS)
    reports = MECHANISM.simulate(answers, random_state=rng)
    return pd.DataFrame({"task": TASKS, "label": [ABC[one] for one in truths]}), reports


def read(frame):
    """Return reports that a table holds."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    workers = pa.array(sorted(frame["worker"].unique()))
    return MECHANISM.read_reports(table, pa.array(TASKS), workers, simulated=True)


def fitted(reports):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulatedNoiseWarning)
        return qc.NoiseAware().fit(reports)


@pytest.mark.parametrize("column", ["campaign", "none"])
@pytest.mark.parametrize("times", [3, 10])
def test_a_report_that_is_sent_again_claims_no_more(times, column):
    """Before, of such reports, errors stayed where they were and the model claimed far fewer."""
    truths, reports = crowd(seed=1)
    once = fitted(reports)
    frame = reports.to_frame()
    parts = [
        frame.assign(
            worker=frame["worker"].astype(str) + f"@{place}", again=place > 0, campaign=f"{place}"
        )
        for place in range(times)
    ]
    joined = pd.concat(parts).drop(columns=column, errors="ignore")
    with pytest.warns(DroppedRowsWarning, match="were sent again and are ignored"):
        read_again = read(joined)
    found = fitted(read_again)
    assert found.truths["confidence"].to_numpy() == pytest.approx(
        once.truths["confidence"].to_numpy(), abs=1e-9
    )
    assert qc.error_rate(found, truths) == qc.error_rate(once, truths)
    assert read_again.again is None


def test_marked_reports_of_one_campaign_count_and_keep_their_marks():
    _, reports = crowd(seed=2)
    marks = np.random.default_rng(3).random(len(reports)) < 0.7
    frame = reports.to_frame().assign(again=marks, campaign="one")
    shuffled = frame.sample(frac=1, random_state=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(shuffled)
    back = found.to_frame().sort_values(["task", "worker"], ignore_index=True)[frame.columns]
    same = frame.sort_values(["task", "worker"], ignore_index=True)
    pd.testing.assert_frame_equal(back, same)
    assert found.campaign == "one"


def test_all_reports_of_several_campaigns_that_were_sent_again_are_none():
    _, reports = crowd(seed=5)
    with pytest.raises(AnswerError, match="may belong to several campaigns"):
        read(reports.to_frame().assign(again=True))


def marks(again, **columns):
    return Marks.of(
        pa.table({"task": [*map(str, range(len(again)))], "again": pa.array(again), **columns})
    )


@pytest.mark.parametrize(
    "again", [[True, False, None], ["True", "false", ""], ["1", "0", None], [" TRUE ", "0", "0"]]
)
def test_marks_are_read_as_files_have_them(again):
    assert marks(again).again.tolist() == [True, False, False]
    assert marks(again[1:]) is None


def test_what_is_neither_true_nor_false_is_no_mark():
    with pytest.raises(AnswerError, match="'again' must be true or false; got 'maybe'"):
        marks(["true", "maybe"])


@pytest.mark.parametrize(
    ("campaigns", "counted"),
    [
        (["x", "x"], [True, True]),
        (["x", "y"], [False, True]),
        (["x", None], [False, True]),
        (["", ""], [False, True]),
    ],
)
def test_marked_reports_count_where_all_are_of_one_campaign(campaigns, counted):
    found = marks([True, False], campaign=pa.array(campaigns, pa.string()))
    assert found.counted.tolist() == counted


def test_every_worker_still_reports_every_task_where_copies_do_not_count():
    mechanism = qc.RandomizedResponse(domain=MECHANISM.domain, epsilon=1.0, missing="category")
    rows = pd.DataFrame({"task": ["s", "t"], "worker": "w", "label": ["a", "b"], "again": False})
    other = rows.assign(worker="x", again=True)
    names = {"tasks": pa.array(["s", "t"]), "workers": pa.array(["w", "x"])}
    both = pa.Table.from_pandas(pd.concat([rows, other]), preserve_index=False)
    with pytest.warns(DroppedRowsWarning):
        assert len(mechanism.read_reports(both, **names, simulated=True)) == 2
    with pytest.raises(AnswerError, match="worker 'x' reports 1 of 2"):
        mechanism.read_reports(both.slice(0, 3), **names, simulated=True)


def test_participation_stays_beside_its_report():
    released = qc.LaplaceMechanism(
        domain=qc.Interval(low=0, high=10), epsilon=1.0, participation="released"
    )
    frame = pd.DataFrame({"task": ["s", "t"], "worker": "w", "label": [1.0, 9.0]})
    reports = released.simulate(qc.Answers.from_frame(frame, released.domain), random_state=1)
    one = reports.to_frame().assign(again=False)
    both = pa.Table.from_pandas(
        pd.concat([one.assign(worker="x", again=True), one]), preserve_index=False
    )
    names = {"tasks": pa.array(["s", "t"]), "workers": pa.array(["w", "x"])}
    with pytest.warns(DroppedRowsWarning):
        found = released.read_reports(both, **names, simulated=True)
    assert found.participation.tolist() == reports.participation.tolist()
