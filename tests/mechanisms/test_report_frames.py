"""Frames name the mechanism of each row, and nothing reads them as answers."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, DroppedRowsWarning, ParameterError
from quietcrowd.frames import HASH, MARK
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    MatrixFactorization,
    NonPrivate,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
)

LABELS = qc.Categorical(["cat", "dog", "fox"])
STARS = qc.Ordinal(range(5))
RANGE = qc.Interval(low=0, high=10)
MECHANISMS = {
    "labels": qc.RandomizedResponse(domain=LABELS, epsilon=1.0),
    "levels": qc.RandomizedResponse(domain=STARS, epsilon=1.0),
    "null": qc.RandomizedResponse(domain=LABELS, epsilon=1.0, missing="category"),
    "two layers": TwoLayerRandomizedResponse(domain=LABELS, low=0.1, high=0.4),
    "sets": qc.SubsetSelection(domain=LABELS, epsilon=1.0),
    "optimal": OptimalMechanism(domain=STARS, epsilon=1.0),
    "laplace": qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=None),
    "bits": qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, participation="released"),
    "duchi": DuchiMechanism(domain=RANGE, epsilon=1.0),
    "piecewise": qc.PiecewiseMechanism(domain=RANGE, epsilon=1.0),
    "hybrid": HybridMechanism(domain=RANGE, epsilon=1.0),
}


def reports_of(mechanism, seed=1):
    rng = np.random.default_rng(seed)
    cells = rng.choice(12 * 15, 80, replace=False)
    some = [0.25, 1.5, 9.0] if mechanism.domain == RANGE else mechanism.domain.labels
    frame = pd.DataFrame(
        {"task": cells // 15, "worker": cells % 15 + 100, "label": rng.choice(some, len(cells))}
    )
    answers = qc.Answers.from_frame(frame, mechanism.domain)
    return mechanism.randomize(answers)


def through_csv(frame):
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)))


WAYS = {
    "pandas": lambda reports: reports.to_frame(),
    "pyarrow": lambda reports: reports.to_frame("pyarrow"),
    "polars": lambda reports: reports.to_frame("polars"),
    "lazy": lambda reports: reports.to_frame("polars").lazy(),
    "csv": lambda reports: through_csv(reports.to_frame()),
    "csv of polars": lambda reports: pl.read_csv(reports.to_frame("polars").write_csv().encode()),
    "shuffled": lambda reports: reports.to_frame().sample(frac=1, random_state=1),
    "parts": lambda reports: pd.concat(
        [reports.to_frame().iloc[40:].assign(note=1), reports.to_frame().iloc[:40]]
    ),
    "merged": lambda reports: reports.to_frame().merge(
        pd.DataFrame({"task": range(12), "topic": "x"}), on="task"
    ),
    "categories": lambda reports: reports.to_frame().astype({"mechanism": "category"}),
    "crowd-kit": lambda reports: reports.to_frame().rename(columns={"worker": "performer"}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_frame_is_read_as_the_reports_that_it_was(name, way):
    reports = reports_of(MECHANISMS[name])
    found = qc.reports_from_frame(WAYS[way](reports), [MECHANISMS[name]])
    assert found.mechanism == reports.mechanism
    assert not found.simulated
    assert found.table.tasks.to_pylist() == reports.table.tasks.to_pylist()
    assert found.table.workers.to_pylist() == reports.table.workers.to_pylist()
    for one in ("offsets", "worker_codes", "values"):
        assert np.array_equal(getattr(found.table, one), getattr(reports.table, one)), one
    assert np.array_equal(found.participation_codes, reports.participation_codes) or (
        found.participation_codes is reports.participation_codes is None
    )


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
@pytest.mark.parametrize("way", WAYS)
def test_no_function_reads_them_as_answers(way):
    mechanism = MECHANISMS["labels"]
    frame = WAYS[way](reports_of(mechanism))
    aware = qc.NoiseAware(max_iter=3)
    expected = aware.fit(reports_of(mechanism)).summary
    for given in ({}, {"non_private": True}):
        found = aware.fit(frame, mechanisms=[mechanism], **given)
        assert found.summary.channel == expected.channel
        assert isinstance(found.truths, type(getattr(frame, "collect", lambda: frame)()))
    names = {"worker": "performer"} if way == "crowd-kit" else {}
    with pytest.raises(AnswerError, match="randomized reports, not answers"):
        qc.Answers.from_frame(frame, LABELS, **names)
    for read in (
        mechanism.randomize,
        lambda rows: qc.Answers.from_label_sets(rows, LABELS.labels, separator=","),
        lambda rows: qc.Answers.from_wide(rows, LABELS, worker="worker"),
    ):
        with pytest.raises(AnswerError, match="randomized reports, not answers"):
            read(frame)


def test_a_fit_says_what_to_write():
    reports = reports_of(MECHANISMS["labels"])
    plain = reports.table.to_frame()
    for call in (
        qc.fit,
        qc.NoiseAware().fit,
        qc.MajorityVote().fit_predict,
        qc.MajorityVote().fit_predict_proba,
        lambda frame: qc.MajorityVote().extend(qc.MajorityVote().fit(reports.table), frame),
    ):
        with pytest.raises(AnswerError, match="add non_private=True"):
            call(plain)
    assert len(qc.MajorityVote().fit_predict(plain, non_private=True)) == 12


def test_a_description_that_is_not_there_is_asked_for():
    reports = reports_of(MECHANISMS["labels"])
    frame = reports.to_frame("polars")
    for others in ([], [qc.RandomizedResponse(domain=LABELS, epsilon=2.0)]):
        with pytest.raises(AnswerError, match=r"is unknown; .* Pass mechanisms=\[\.\.\.\]"):
            qc.fit(frame, mechanisms=others)
    with pytest.raises(ParameterError, match="must be a Mechanism"):
        qc.fit(frame, mechanisms=["one-layer"])


def test_columns_that_were_lost_or_renamed_are_missed():
    frame = reports_of(MECHANISMS["labels"]).to_frame()
    kept = frame[["task", "worker", "label"]]
    assert MARK in kept.attrs
    renamed = frame.rename(columns={"mechanism": "mechanism_x"})
    for given in ({}, {"non_private": True}):
        with pytest.raises(AnswerError, match=r"its column 'mechanism' is missing.*del frame"):
            qc.fit(kept, **given)
        with pytest.raises(AnswerError, match=r"column 'mechanism_x' contains hashes"):
            qc.fit(renamed, **given)
    with pytest.raises(AnswerError, match="its column 'mechanism' is missing"):
        qc.Answers.from_frame(kept, LABELS)
    with pytest.raises(AnswerError, match="has no column 'mechanism'"):
        qc.reports_from_frame(pl.from_pandas(kept))
    del kept.attrs[MARK]
    assert len(qc.Answers.from_frame(kept, LABELS)) == len(kept)


def test_answers_among_reports_are_an_error():
    frame = reports_of(MECHANISMS["labels"]).to_frame()
    answers = pd.DataFrame({"task": [0], "worker": ["new"], "label": ["cat"]})
    with pytest.raises(AnswerError, match=r"row 80, .* may be a non-private answer"):
        qc.fit(pd.concat([frame, answers], ignore_index=True), mechanisms=[MECHANISMS["labels"]])


def test_a_column_with_other_words_is_none():
    frame = reports_of(MECHANISMS["labels"]).table.to_frame()
    for words in ("catalysis", 3, None):
        assert len(qc.Answers.from_frame(frame.assign(mechanism=words), LABELS)) == 80


def test_simulated_reports_are_called_so_in_every_row():
    mechanism = MECHANISMS["labels"]
    reports = mechanism.simulate(
        qc.make_crowd(tasks=4, workers=12, labels=LABELS.labels).answers, random_state=1
    )
    assert qc.reports_from_frame(through_csv(reports.to_frame()), [mechanism]).simulated


def test_hashes_are_those_of_descriptions():
    found = [one.short_hash for one in MECHANISMS.values()]
    assert len(set(found)) == len(MECHANISMS)
    assert all(HASH.fullmatch(one) for one in found)
    again = qc.Categorical(json.loads(json.dumps(LABELS.labels)))
    assert qc.RandomizedResponse(domain=again, epsilon=1).short_hash == found[0]
    assert found[0] == "qc-cfde2a322f8d5bfe"


class Unnamed(qc.RandomizedResponse):
    """A mechanism that no file describes."""


def test_a_class_without_a_name_is_read_if_it_is_given():
    mechanism = Unnamed(domain=LABELS, epsilon=1.0)
    frame = reports_of(mechanism).to_frame()
    assert qc.reports_from_frame(frame, [mechanism]).mechanism is mechanism
    with pytest.raises(AnswerError, match="is unknown"):
        qc.reports_from_frame(frame)


def test_sketches_need_all_tasks():
    factors = MatrixFactorization(domain=STARS, epsilon=4.0, rank=2)
    frame = reports_of(factors).to_frame()
    assert frame.columns.tolist() == ["worker", "coordinate", "number", "mechanism"]
    with pytest.raises(AnswerError, match="does not list all tasks"):
        qc.fit(frame)


MIXTURES = {
    "labels": (MECHANISMS["labels"], MECHANISMS["sets"], MECHANISMS["two layers"]),
    "levels": (MECHANISMS["levels"], MECHANISMS["optimal"], NonPrivate(domain=STARS)),
    "numbers": (MECHANISMS["laplace"], MECHANISMS["piecewise"], NonPrivate(domain=RANGE)),
}


def parts_of(kind):
    """Return reports of three mechanisms by workers who use one, and two workers who use two."""
    rng, parts = np.random.default_rng(2), []
    for place, mechanism in enumerate(MIXTURES[kind]):
        some = [0.25, 1.5, 9.0] if mechanism.domain == RANGE else mechanism.domain.labels
        rows = [
            (task, 100 + worker, some[int(rng.integers(len(some)))])
            for task in range(place % 2, 12)
            for worker in range(6 * place, 6 * place + 7)
            if (task + worker) % 3 or worker % 6
        ]
        frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
        answers = qc.Answers.from_frame(
            frame[~((frame["worker"] % 6 == 100 % 6) & (frame["task"] % 2 == place % 2))],
            mechanism.domain,
        )
        private = not isinstance(mechanism, NonPrivate)
        parts.append(mechanism.randomize(answers) if private else mechanism.reports_of(answers))
    return parts


JOINED = {
    "concatenated": lambda parts: pd.concat([part.to_frame() for part in parts]),
    "csv": lambda parts: through_csv(pd.concat([part.to_frame() for part in parts])),
    "merged": lambda parts: pd.concat([part.to_frame() for part in parts[::-1]]).merge(
        pd.DataFrame({"task": range(12), "topic": "x"}), on="task"
    ),
    "polars": lambda parts: pl.concat(
        [part.to_frame("polars") for part in parts], how="vertical_relaxed"
    ),
    "pandas, joined": lambda parts: qc.join_reports(*parts).to_frame(),
    "pyarrow, joined": lambda parts: qc.join_reports(*parts).to_frame("pyarrow"),
    "lazy, joined": lambda parts: qc.join_reports(*parts).to_frame("polars").lazy(),
}


@pytest.mark.parametrize("way", JOINED)
@pytest.mark.parametrize("kind", MIXTURES)
def test_frames_of_several_mechanisms_are_the_joined_reports(kind, way):
    parts = parts_of(kind)
    expected = qc.join_reports(*parts)
    found = qc.reports_from_frame(JOINED[way](parts), MIXTURES[kind])
    assert found.mechanism == expected.mechanism
    assert found.table.tasks.to_pylist() == expected.table.tasks.to_pylist()
    assert found.table.workers.to_pylist() == expected.table.workers.to_pylist()
    for one in ("offsets", "worker_codes", "values"):
        assert np.array_equal(getattr(found.table, one), getattr(expected.table, one)), one


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
@pytest.mark.parametrize("way", JOINED)
def test_a_fit_of_frames_is_that_of_the_joined_reports(way):
    parts = parts_of("labels")
    expected = qc.NoiseAware(max_iter=5).fit(qc.join_reports(*parts))
    for data in (JOINED[way](parts), [part.to_frame() for part in parts]):
        found = qc.NoiseAware(max_iter=5).fit(data, mechanisms=MIXTURES["labels"])
        assert found.history == expected.history
        assert found.truths_as("pandas").equals(expected.truths)


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
def test_non_private_frames_stand_beside_reports_in_a_list():
    first, second, _ = parts_of("labels")
    rows = pd.DataFrame({"task": [0, 1], "worker": ["new", "new"], "label": ["cat", "dog"]})
    answers = qc.Answers.from_frame(rows, LABELS)
    expected = qc.NoiseAware(max_iter=3).fit([first, second, answers])
    for some in ([first.to_frame(), second, rows], [second.to_frame(), first.to_frame(), rows]):
        found = qc.NoiseAware(max_iter=3).fit(some, non_private=True)
        assert found.history == expected.history
    with pytest.raises(AnswerError, match="add non_private=True"):
        qc.fit([first, rows])
    with pytest.raises(AnswerError, match="a list needs Reports or Answers"):
        qc.fit([rows, rows], non_private=True)


def test_concatenated_tables_have_the_description_of_the_first():
    first, _, second = parts_of("labels")
    both = pa.concat_tables([first.to_frame("pyarrow"), second.to_frame("pyarrow")])
    with pytest.raises(AnswerError, match=f"mechanism {second.mechanism.short_hash} is unknown"):
        qc.fit(both)
    assert len(qc.reports_from_frame(both, [second.mechanism])) == len(first) + len(second)


def test_a_part_without_rows_stays_a_part_of_a_described_mixture():
    joined = qc.join_reports(*parts_of("labels"))
    frame = joined.to_frame()
    some = frame[frame["mechanism"] == MECHANISMS["labels"].short_hash]
    assert qc.reports_from_frame(some).mechanism == joined.mechanism
    del some.attrs[MARK]
    assert qc.reports_from_frame(some, MIXTURES["labels"]).mechanism == MECHANISMS["labels"]


@pytest.mark.parametrize("campaigns", [["one"] * 3, ["one", "one", "two"], [None] * 3])
def test_reports_of_several_mechanisms_that_were_sent_again_count_once(campaigns):
    parts = parts_of("labels")
    frames = [
        part.to_frame().assign(again=place == 1, campaign=campaigns[place])
        for place, part in enumerate(parts)
    ]
    both = pd.concat(frames)
    if campaigns[0] and len(set(campaigns)) == 1:
        found = qc.reports_from_frame(both, MIXTURES["labels"])
        assert (len(found), found.campaign) == (len(both), "one")
        assert found.again.sum() == len(parts[1])
        return
    kept = both[~both["again"]].drop(columns=["again", "campaign"])
    with pytest.warns(DroppedRowsWarning, match="were sent again and are ignored"):
        found = qc.reports_from_frame(both, MIXTURES["labels"])
    assert found.again is None
    expected = qc.reports_from_frame(kept, MIXTURES["labels"])
    assert np.array_equal(found.to_frame(), expected.to_frame())
