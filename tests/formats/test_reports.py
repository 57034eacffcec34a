"""Reports of every mechanism come back from every kind of file as they went."""

import json
import warnings

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.nightly import by_day, nightly
from tests.removed_mechanism import REMOVED, SENTENCE

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import (
    AnswerError,
    DroppedRowsWarning,
    FormatError,
    MissingMechanismError,
    ParameterError,
    QuietcrowdWarning,
)
from quietcrowd.formats import read_answers, read_reports, write_reports, write_table
from quietcrowd.formats.registry import read_note
from quietcrowd.formats.reports import read_report_note, report_note, rounds_in
from quietcrowd.inference import Mean, RatioMean, ignores_noise
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    LaplaceMechanism,
    MatrixFactorization,
    OptimalMechanism,
    PiecewiseMechanism,
    RandomizedResponse,
    SubsetSelection,
    TwoLayerRandomizedResponse,
    join_reports,
    reports_from_frame,
)
from quietcrowd.scale import partition_parquet

STARS = Ordinal(range(5))
DEGREES = Interval(low=-12.3, high=41.7)
MECHANISMS = [
    RandomizedResponse(domain=STARS, epsilon=1.0, missing="category"),
    TwoLayerRandomizedResponse(
        domain=STARS, epsilon=1.0, distribution="epsilon", missing="category"
    ),
    LaplaceMechanism(domain=STARS, epsilon=1.0),
    LaplaceMechanism(domain=DEGREES, epsilon=1.0, fill=None),
    LaplaceMechanism(domain=DEGREES, epsilon=0.1, participation="released"),
    MatrixFactorization(domain=DEGREES, epsilon=1.0),
    MatrixFactorization(domain=DEGREES, epsilon=0.01, variant="statistics", rank=3),
    MatrixFactorization(domain=STARS, epsilon=1.0, variant="ridge"),
    PiecewiseMechanism(domain=STARS, epsilon=1.0),
    DuchiMechanism(domain=DEGREES, epsilon=1.0),
    HybridMechanism(domain=DEGREES, epsilon=3.0),
]
SETS = SubsetSelection(domain=STARS, epsilon=0.5)
TABLE = OptimalMechanism(domain=STARS, epsilon=1.0, prior={0: 0.6})
SUFFIXES = [".csv", ".csv.gz", ".tsv", ".parquet", ".jsonl", ".jsonl.gz"]
BY_DAY = [".csv", ".parquet", ".jsonl"]
"""What a table comes back as from packed files and from .tsv, ``test_tables.py`` tries."""

EVERY_SUFFIX = by_day(BY_DAY, SUFFIXES)


def answers_in(domain, tasks=("a", "b", "c", "silent task"), workers=("u", "v", "nobody")):
    rows = [("b", "v", 4), ("a", "u", 2), ("c", "u", 0)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    frame["task"] = frame["task"].map(dict(zip("abc", tasks, strict=False)))
    frame["worker"] = frame["worker"].map(dict(zip("uv", workers, strict=False)))
    return Answers.from_frame(frame, domain, tasks=tasks, workers=workers)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", EVERY_SUFFIX)
@pytest.mark.parametrize("mechanism", [*MECHANISMS, SETS, TABLE], ids=str)
def test_round_trip(mechanism, suffix, tmp_path):
    reports = mechanism.randomize(answers_in(mechanism.domain))
    path = tmp_path / f"reports{suffix}"
    write_reports(reports, path)
    back = read_reports(path)
    assert back.mechanism == mechanism
    assert not back.simulated
    assert back.table.tasks.to_pylist() == ["a", "b", "c", "silent task"]
    assert back.table.workers.to_pylist() == ["nobody", "u", "v"]
    assert np.array_equal(back.table.offsets, reports.table.offsets)
    assert np.array_equal(back.table.values, reports.table.values)
    for name in ("participation_codes", "sketches"):
        ours, theirs = getattr(reports, name), getattr(back, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or np.array_equal(ours, theirs)
    pd.testing.assert_frame_equal(
        back.to_frame(), reports.to_frame(), check_dtype=False, check_exact=True
    )


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet", nightly(".jsonl")])
@pytest.mark.parametrize("ids", [(10, 9, 8, 7), pd.date_range("2026-01-01", periods=4)])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_ids_of_other_types(mechanism, ids, suffix, tmp_path):
    """They come back as what they print as; a prediction does not depend on it."""
    reports = mechanism.randomize(answers_in(mechanism.domain, tasks=list(ids), workers=(1, 2, 3)))
    path = tmp_path / f"reports{suffix}"
    write_reports(reports, path)
    back = read_reports(path)
    plain = str if ids[0] == 10 else pd.Timestamp
    with ignores_noise():
        before, after = (
            Mean().fit(data).truths.assign(task=lambda found: found["task"].map(plain))
            for data in (reports, back)
        )
    assert set(after["task"]) == set(before["task"])
    pd.testing.assert_series_equal(
        *(found.set_index("task")["truth"].sort_index() for found in (after, before)), rtol=1e-9
    )


FILLED = RandomizedResponse(domain=STARS, epsilon=1.0, missing="category")


@pytest.mark.slow
@pytest.mark.parametrize("rng", [None, 0])
@pytest.mark.parametrize(
    ("backend", "suffix", "write"),
    [
        *(
            (backend, suffix, write_table)
            for backend in ("pandas", "pyarrow")
            for suffix in SUFFIXES
        ),
        ("pandas", ".parquet", pd.DataFrame.to_parquet),
        ("pyarrow", ".parquet", pq.write_table),
    ],
)
def test_files_made_of_a_frame_of_reports_are_files_of_reports(
    backend, suffix, write, rng, tmp_path
):
    answers = answers_in(STARS)
    reports = (
        FILLED.randomize(answers) if rng is None else FILLED.simulate(answers, random_state=rng)
    )
    path = tmp_path / f"a{suffix}"
    write(reports.to_frame(backend), path)
    back = read_reports(path)
    assert back.mechanism == FILLED
    assert back.simulated == (rng is not None)
    assert np.array_equal(back.table.values, reports.table.values)
    with pytest.raises(FormatError, match="these are randomized reports"):
        read_answers(path, FILLED.report_domain)


def test_what_is_counted_per_task_is_no_file_of_reports(tmp_path):
    frame = FILLED.randomize(answers_in(STARS)).to_frame()
    counts = frame.groupby("task")["label"].count().reset_index()
    counts.attrs = frame.attrs  # as some operations of pandas do
    for suffix in SUFFIXES:
        write_table(counts, tmp_path / f"a{suffix}")
        assert read_note(tmp_path / f"a{suffix}") is None


def test_a_frame_of_polars_is_written_as_it_looks(tmp_path):
    pytest.importorskip("polars")
    write_table(FILLED.randomize(answers_in(STARS)).to_frame("polars"), tmp_path / "a.csv")
    with pytest.raises(FormatError, match="does not describe the mechanism"):
        read_reports(tmp_path / "a.csv")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_one_file_per_device(mechanism, tmp_path):
    tasks = ["a", "b", "c", "d"]
    paths = []
    for worker, rows in {"u": [("a", 1), ("c", 4)], "v": [("b", 2)], "idle": []}.items():
        frame = pd.DataFrame(rows, columns=["task", "label"]).assign(worker=worker)
        own = Answers.from_frame(frame, mechanism.domain, tasks=tasks, workers=[worker])
        path = tmp_path / f"{worker}.parquet"
        write_reports(mechanism.randomize(own), path)
        paths.append(path)
    reports = read_reports(*paths)
    assert reports.table.workers.to_pylist() == ["idle", "u", "v"]
    assert reports.table.tasks.to_pylist() == tasks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        method = RatioMean() if reports.participation is not None else Mean()
        assert len(method.fit(reports).truths) == 4
    with pytest.raises(AnswerError, match=r"answered task|repeated"):
        read_reports(paths[0], paths[0])


def test_devices_that_know_other_tasks_do_not_go_together(tmp_path):
    mechanism = MatrixFactorization(domain=STARS, epsilon=1.0)
    for worker, tasks in (("u", ["a", "b"]), ("v", ["a", "c"])):
        frame = pd.DataFrame({"task": ["a"], "worker": [worker], "label": [1]})
        own = Answers.from_frame(frame, STARS, tasks=tasks, workers=[worker])
        write_reports(mechanism.randomize(own), tmp_path / f"{worker}.csv")
    with pytest.raises(FormatError, match="differ from those of"):
        read_reports(tmp_path / "u.csv", tmp_path / "v.csv")


def spoil(path, change):
    """Change a JSON Lines file of reports; `change` gets the list of its rows."""
    note, *rows = path.read_text().splitlines()
    rows = change([json.loads(row) for row in rows])
    path.write_text("\n".join([note, *map(json.dumps, rows)]) + "\n")


@pytest.mark.parametrize(
    ("mechanism", "change", "message"),
    [
        (MECHANISMS[0], lambda rows: rows[1:], "every worker reports every task, but worker"),
        (MECHANISMS[0], lambda rows: [*rows, rows[0]], "answered task"),
        (MECHANISMS[0], lambda rows: [{**rows[0], "label": 9}, *rows[1:]], "outside the domain"),
        (MECHANISMS[2], lambda rows: [{**rows[0], "label": 0.3}, *rows[1:]], "outside the domain"),
        (MECHANISMS[4], lambda rows: [{**rows[0], "participation": 0.3}, *rows[1:]], "outside"),
        (MECHANISMS[5], lambda rows: rows[1:], "are missing, repeated or out of range"),
        (MECHANISMS[5], lambda rows: [*rows, rows[0]], "are missing, repeated or out of range"),
        (MECHANISMS[5], lambda rows: [{**rows[0], "number": "x"}, *rows[1:]], "more than one type"),
        (MECHANISMS[5], lambda rows: [{**rows[0], "number": None}, *rows[1:]], "lacks its worker"),
        (MECHANISMS[5], lambda rows: [{**row, "coordinate": "x"} for row in rows], "not a number"),
        (MECHANISMS[5], lambda rows: [{**rows[0], "coordinate": -1}, *rows[1:]], "out of range"),
        (MECHANISMS[5], lambda rows: [{**rows[0], "worker": None}, *rows[1:]], "lacks its worker"),
        (MECHANISMS[7], lambda rows: [{**rows[0], "number": 1e999}, *rows[1:]], "finite number"),
    ],
)
def test_spoilt_files_are_one_clear_error(mechanism, change, message, tmp_path):
    path = tmp_path / "reports.jsonl"
    write_reports(mechanism.randomize(answers_in(mechanism.domain)), path)
    spoil(path, change)
    with pytest.raises((AnswerError, FormatError), match=message) as caught:
        read_reports(path)
    assert "reports.jsonl" in str(caught.value)


def test_a_note_of_ids_that_are_none(tmp_path):
    path = tmp_path / "reports.jsonl"
    write_reports(MECHANISMS[5].randomize(answers_in(DEGREES)), path)
    note, *rows = path.read_text().splitlines()
    for tasks in ("a", [None], [["a"]], [1, "a"], [True, 2], ["a", "a"], [0.5]):
        path.write_text("\n".join([json.dumps({**json.loads(note), "tasks": tasks}), *rows]))
        with pytest.raises(FormatError, match="'tasks' must be a list of distinct"):
            read_reports(path)
    path.write_text("\n".join([json.dumps({**json.loads(note), "tasks": []}), *rows]))
    with pytest.raises(FormatError, match="'tasks' is missing"):
        read_reports(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_crowd_without_any_answer(suffix, tmp_path):
    """Nobody reports, where reports exist for answers alone; the lists come back all the same."""
    mechanism = MECHANISMS[3]
    nobody = pd.DataFrame({"task": [], "worker": [], "label": []})
    answers = Answers.from_frame(nobody, DEGREES, tasks=["a", "b"], workers=["u"])
    path = tmp_path / f"reports{suffix}"
    write_reports(mechanism.randomize(answers), path)
    back = read_reports(path)
    assert (len(back), back.table.tasks.to_pylist(), back.table.workers.to_pylist()) == (
        0,
        ["a", "b"],
        ["u"],
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_dates_of_several_devices_are_the_same_tasks(suffix, tmp_path):
    dates = list(pd.to_datetime(["2020-01-01 04:00", "2020-01-02 05:00", "2020-01-03 06:00"]))
    for worker, task in (("u", 0), ("v", 2)):
        frame = pd.DataFrame({"task": [dates[task]], "worker": [worker], "label": [1.0]})
        own = Answers.from_frame(frame, DEGREES, tasks=dates, workers=[worker])
        write_reports(MECHANISMS[3].randomize(own), tmp_path / f"{worker}{suffix}")
    back = read_reports(tmp_path / f"u{suffix}", tmp_path / f"v{suffix}")
    assert len(back.table.tasks) == 3


def test_columns_have_the_length_of_the_table():
    reports = MECHANISMS[4].randomize(answers_in(DEGREES))
    with pytest.raises(AnswerError, match="participation_codes must be 12 numbers"):
        attrs.evolve(reports, participation_codes=np.zeros(3))
    sketches = MECHANISMS[5].randomize(answers_in(DEGREES))
    with pytest.raises(AnswerError, match="sketches must be 3 rows"):
        attrs.evolve(sketches, sketches=np.zeros((1, 20)))


def test_reports_of_a_removed_mechanism_say_why_it_went(tmp_path):
    write_reports(MECHANISMS[3].randomize(answers_in(DEGREES)), tmp_path / "reports.csv")
    path = tmp_path / "reports.csv.mechanism.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mechanism": REMOVED}))
    with pytest.raises(FormatError, match=rf"reports.csv: {SENTENCE}"):
        read_reports(tmp_path / "reports.csv")


COIN = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)


def write_export(path, rows, campaign, **more):
    """Write reports as an export of a campaign: rows are of task, worker, label and again."""
    frame = pd.DataFrame(rows, columns=["task", "worker", "label", "again"])
    note = report_note(COIN, simulated=False, **more)
    write_table(frame.assign(campaign=campaign), path, note)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".xlsx"])
def test_of_files_of_several_campaigns_originals_count(tmp_path, suffix):
    first = write_export(
        tmp_path / f"a{suffix}", [("s", "u", "yes", False), ("t", "u", "no", False)], "one"
    )
    second = write_export(
        tmp_path / f"b{suffix}", [("s", "x", "yes", True), ("s", "y", "no", False)], "two"
    )
    alone = read_reports(second)
    assert (len(alone), alone.again.tolist(), alone.campaign) == (2, [True, False], "two")
    with pytest.warns(DroppedRowsWarning, match="1 of 4 reports were sent again and are ignored"):
        both = read_reports(first, second)
    assert both.again is None
    assert both.table.workers.to_pylist() == ["u", "y"]
    write_reports(alone, tmp_path / f"c{suffix}")
    back = read_reports(tmp_path / f"c{suffix}")
    assert (back.again.tolist(), back.campaign) == ([True, False], "two")
    assert back.to_frame().equals(alone.to_frame())


def test_copies_of_a_question_are_read_as_one_task_from_the_original(tmp_path):
    rows = [("s", "u", "yes", True), ("r", "u", "yes", False), ("s", "v", "no", False)]
    rows += [("t", "u", "no", False)]
    copies = {"r": "r", "s": "r"}
    path = write_export(tmp_path / "a.csv", rows, "one", tasks=["r", "s", "t"], copies=copies)
    with pytest.warns(DroppedRowsWarning, match="Copies are merged into the first task by name"):
        found = read_reports(path)
    frame = found.to_frame()
    assert found.table.tasks.to_pylist() == ["r", "t"]
    assert list(zip(frame["task"], frame["worker"], frame["label"], strict=True)) == [
        ("r", "u", "yes"),
        ("r", "v", "no"),
        ("t", "u", "no"),
    ]
    assert found.again is None, "the original stayed"


@pytest.mark.parametrize("copies", [[], {"a": 1}, "a"])
def test_copies_that_are_none_are_refused(tmp_path, copies):
    write_export(tmp_path / "a.csv", [("s", "u", "yes", False)], "one")
    [note] = tmp_path.glob("*.mechanism.json")
    note.write_text(json.dumps({**json.loads(note.read_text()), "copies": copies}))
    with pytest.raises(FormatError, match="'copies' must map each copy to a task"):
        read_reports(tmp_path / "a.csv")


def test_a_platform_holds_no_marks(tmp_path):
    path = write_export(tmp_path / "a.csv", [("s", "u", "yes", True)], "one")
    with pytest.raises(ParameterError, match=r"stores task, worker and label, not .*again"):
        write_reports(read_reports(path), tmp_path / "b.tsv", file_format="toloka")


MIXED = (
    RandomizedResponse(domain=STARS, epsilon=0.5),
    SETS,
    TABLE,
    TwoLayerRandomizedResponse(domain=STARS, low=0.1, high=0.4),
)


def sent_by(place, mechanism):
    rows = [(f"t{task}", f"w{place}{who}", (task + who) % 5) for task in range(6) for who in (1, 2)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return mechanism.randomize(
        Answers.from_frame(frame, STARS, tasks=[*frame["task"].unique(), "t9"])
    )


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".xlsx"])
def test_reports_of_several_mechanisms_are_one_file_or_several(tmp_path, suffix):
    parts = [sent_by(place, mechanism) for place, mechanism in enumerate(MIXED)]
    joined = join_reports(*parts)
    paths = [tmp_path / f"{place}{suffix}" for place in range(len(parts))]
    for part, path in zip(parts, paths, strict=True):
        write_reports(part, path)
    write_reports(joined, tmp_path / f"joined{suffix}")
    write_reports(join_reports(*parts[:2]), tmp_path / f"two{suffix}")
    for found in (
        read_reports(tmp_path / f"joined{suffix}"),
        read_reports(*paths),
        read_reports(paths[3], tmp_path / f"two{suffix}", paths[2]),
    ):
        assert found.mechanism == joined.mechanism
        pd.testing.assert_frame_equal(found.to_frame(), joined.to_frame())
        assert "t9" in found.table.tasks.to_pylist()


def test_rows_of_another_mechanism_are_found_in_a_file(tmp_path):
    first, second = (sent_by(place, MIXED[place]) for place in (0, 3))
    tables = [part.to_frame("pyarrow") for part in (first, second)]
    pq.write_table(pa.concat_tables(tables), tmp_path / "both.parquet")
    words = rf"both.parquet: row 12, .* {second.mechanism.short_hash} is unknown"
    with pytest.raises(AnswerError, match=words):
        read_reports(tmp_path / "both.parquet")


def test_a_file_without_its_description_is_not_read_as_answers(tmp_path):
    for suffix in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"reports.{suffix}"
        frame = sent_by(0, MIXED[0]).to_frame("polars")
        write_table(frame, path)
        for read in (read_reports, lambda path: read_answers(path, STARS)):
            with pytest.raises(MissingMechanismError, match="the file does not describe the mech"):
                read(path)
        write_table(frame.rename({"mechanism": "mechanism_right"}), path)
        with pytest.raises(AnswerError, match="contains hashes of mechanisms"):
            read_answers(path, STARS)


def test_files_of_platforms_have_one_mechanism(tmp_path):
    joined = join_reports(sent_by(0, MIXED[0]), sent_by(1, MIXED[1]))
    with pytest.raises(ParameterError, match="cannot state the mechanism of each row"):
        write_reports(joined, tmp_path / "m.csv", file_format="mturk")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_file_of_several_rounds_is_read_by_round(tmp_path, suffix):
    sent = {number: sent_by(number, MIXED[0]) for number in (2, 10)}
    frames = [one.to_frame().assign(round=number) for number, one in sent.items()]
    path, note = tmp_path / f"rounds{suffix}", report_note(MIXED[0], simulated=False, tasks=["t9"])
    write_table(pd.concat(frames), path, note)
    assert list(rounds_in(read_report_note(path))) == [2, 10]
    for number, one in sent.items():
        pd.testing.assert_frame_equal(read_reports(path, round=number).to_frame(), one.to_frame())
        only = tmp_path / f"{number}{suffix}"
        write_table(one.to_frame().assign(round=number), only, note)
        pd.testing.assert_frame_equal(read_reports(only).to_frame(), one.to_frame())
    with pytest.raises(AnswerError, match=r"rounds 2 to 10, .* round=10"):
        read_reports(path)
    with pytest.raises(AnswerError, match=r"rounds 2 to 10, .*\['round'\] == 10"):
        reports_from_frame(pd.concat(frames))
    with pytest.raises(FormatError, match="no report of round 3; the rounds are 2, 10"):
        read_reports(path, round=3)
    write_reports(sent[2], path)
    assert rounds_in(read_report_note(path)) == {}
    with pytest.raises(AnswerError, match="column 'round' is missing"):
        read_reports(path, round=2)
    if suffix == ".parquet":
        write_table(pd.concat(frames), path, note)
        with pytest.raises(AnswerError, match="rounds 2 to 10"):
            partition_parquet(path, tmp_path / "store")
