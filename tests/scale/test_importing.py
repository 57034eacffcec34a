import datetime
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.scale.conftest import LABELS, draw_rows

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    FormatError,
    MissingMechanismError,
    ParameterError,
    QuietcrowdWarning,
)
from quietcrowd.formats import write_table
from quietcrowd.formats.registry import read_note
from quietcrowd.formats.reports import report_note
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.reading import Observations
from quietcrowd.mechanisms import MatrixFactorization
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.scale import Store, infer_store, partition_parquet, sources

DOMAIN = qc.Categorical(["a", "b"])
FRAME = pd.DataFrame(
    {"task": [7, 7, 8, -(2**62)], "worker": ["u", "v", "u", "w"], "label": ["a", "b", "b", "a"]}
)


@pytest.fixture(params=[1, 3, 8])
def partitions(request):
    return request.param


@pytest.fixture(autouse=True)
def few_rows_at_once(monkeypatch):
    monkeypatch.setattr(sources, "ROWS_AT_ONCE", 7)


def rows_of(store):
    """Return all answers of a store as tuples, sorted."""
    rows = []
    for index in range(len(store.partitions)):
        part, tasks = store.partition(index), store.task_ids(index)
        labels = store.domain.decode(part.values)
        for task in range(part.tasks):
            for row in range(part.offsets[task], part.offsets[task + 1]):
                worker = store.workers[int(part.worker_codes[row])]
                rows.append((tasks[task].as_py(), worker.as_py(), labels[row].as_py()))
    return sorted(rows)


def rows_in_memory(answers):
    return sorted(answers.to_frame().itertuples(index=False, name=None))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_a_store_of_answers_holds_what_is_held_in_memory(crowd_files, tmp_path, partitions, kind):
    domain = {"labels": qc.Categorical(["no", "perhaps", "yes"])}.get(kind)
    domain = domain or qc.Interval(low=0, high=10)
    path = crowd_files / f"{kind}.parquet"
    answers = qc.read_answers(path, domain)
    store = partition_parquet(path, tmp_path / "s", domain=domain, partitions=partitions)
    assert len(store.partitions) == partitions
    assert rows_of(store) == rows_in_memory(answers)
    assert store.workers.equals(answers.workers)
    assert_summaries_equal(store.summary, Summary.of(answers))


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", ["randomised", "null", "laplace", "filled", "released"])
def test_a_store_of_reports_holds_what_is_held_in_memory(crowd_files, tmp_path, partitions, name):
    path = crowd_files / f"{name}.parquet"
    reports = qc.read_reports(path)
    observed = Observations.read(reports, qc.MajorityVote())
    store = partition_parquet(path, tmp_path / "s", partitions=partitions)
    assert rows_of(store) == rows_in_memory(observed.answers)
    assert store.workers.equals(reports.table.workers)
    assert store.mechanism == reports.mechanism
    assert store.simulated
    assert store.dropped.null_reports == observed.answers.dropped.null_reports
    bits = observed.participation is not None
    assert_summaries_equal(store.summary, Summary.of(observed.answers, observed.channel, bits))
    if bits:
        parts = [store.partition(index).participation for index in range(partitions)]
        assert sorted(np.concatenate(parts)) == sorted(observed.participation)


def assert_summaries_equal(left, right):
    assert left.answers_per_worker.tolist() == right.answers_per_worker.tolist()
    for name in ("domain", "tasks", "longest_task", "low", "high", "participation"):
        assert getattr(left, name) == getattr(right, name)
    if isinstance(left.channel, TableChannel):
        assert left.channel == right.channel


def test_one_partition_is_that_of_memory(crowd_files, tmp_path):
    path, domain = crowd_files / "numbers.parquet", qc.Interval(low=0, high=10)
    stored = partition_parquet(path, tmp_path / "s", domain=domain).partition(0)
    own = Partition.of(qc.read_answers(path, domain))
    for name in ("offsets", "worker_codes", "values", "draws"):
        assert getattr(stored, name).tolist() == getattr(own, name).tolist()
    for name in ("offsets", "worker_codes", "draws"):
        assert getattr(stored, name).dtype == getattr(own, name).dtype


def test_bytes_are_spared(write, tmp_path):
    labels = partition_parquet(write(FRAME), tmp_path / "labels", domain=DOMAIN)
    assert labels.partition(0).values.dtype == np.uint8
    for name, number, kind in (("short", 0.5, np.float32), ("long", 0.1, np.float64)):
        path = write(FRAME.assign(label=[1.0, 2.0, 3.0, number]), f"{name}.parquet")
        store = partition_parquet(path, tmp_path / name, domain=qc.Interval(low=0, high=5))
        values = store.partition(0).values
        assert values.dtype == kind
        assert sorted(values.tolist()) == [number, 1.0, 2.0, 3.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, -5, 2**62],
        ["ü", "b", "-", "a,b"],
        [0.5, -1.0, 2.0, 1e10],
        [datetime.date(2024, 1, day) for day in (4, 2, 3, 1)],
        pd.Categorical(["x", "y", "z", "x1"]),
        np.array([2**64 - 1, 2**63, 0, 1], np.uint64),
    ],
)
def test_ids_of_any_type(write, tmp_path, partitions, ids):
    path = write(FRAME.assign(task=ids, worker=ids))
    store = partition_parquet(path, tmp_path / "s", domain=DOMAIN, partitions=partitions)
    assert rows_of(store) == rows_in_memory(qc.read_answers(path, DOMAIN))


def test_several_files_are_read_as_one(write, tmp_path, partitions):
    paths = [write(FRAME[:2], "one.parquet"), write(FRAME[2:], "two.parquet")]
    store = partition_parquet(paths, tmp_path / "s", domain=DOMAIN, partitions=partitions)
    assert rows_of(store) == rows_in_memory(qc.Answers.from_frame(FRAME, DOMAIN))


def test_ids_of_several_types_become_texts(write, tmp_path, partitions):
    texts = FRAME.assign(task=FRAME["task"].astype(str))
    paths = [write(FRAME[:2], "one.parquet"), write(texts[2:], "two.parquet")]
    store = partition_parquet(paths, tmp_path / "s", domain=DOMAIN, partitions=partitions)
    assert rows_of(store) == rows_in_memory(qc.Answers.from_frame(texts, DOMAIN))


@pytest.mark.slow
def test_report_files_of_many_devices(crowd_files, tmp_path, partitions):
    reports = qc.read_reports(crowd_files / "randomised.parquet")
    frame = reports.to_frame("pyarrow")
    note = {b"quietcrowd": json.dumps({"mechanism": reports.mechanism.to_dict()}).encode()}
    paths = []
    for number, worker in enumerate(reports.table.workers.to_pylist()):
        own = frame.filter(pa.compute.equal(frame["worker"], worker)).replace_schema_metadata(note)
        paths.append(tmp_path / f"{number}.parquet")
        pq.write_table(own, paths[-1])
    store = partition_parquet(paths, tmp_path / "s", partitions=partitions)
    assert rows_of(store) == rows_in_memory(reports.table)
    assert not store.simulated


def test_tasks_and_workers_without_a_row_are_kept(tmp_path, partitions):
    listed = {"tasks": [7, 8, 9, 10], "workers": ["u", "v", "w"]}
    answers = qc.Answers.from_frame(FRAME[:3], DOMAIN, **listed)
    reports = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0).randomize(answers)
    qc.write_reports(reports, tmp_path / "r.parquet")
    store = partition_parquet(tmp_path / "r.parquet", tmp_path / "s", partitions=partitions)
    tasks = [store.task_ids(index).to_pylist() for index in range(len(store.partitions))]
    assert sorted(task for part in tasks for task in part) == listed["tasks"]
    assert store.workers.to_pylist() == listed["workers"]
    assert store.answers_per_worker.tolist() == reports.table.answers_per_worker.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("duplicates", ["first", "last"])
def test_repeated_rows_may_be_left_out(write, tmp_path, partitions, duplicates):
    path = write(pd.concat([FRAME, FRAME.assign(label="b"), FRAME[:1]]))
    options = {"duplicates": duplicates}
    store = partition_parquet(path, tmp_path / "s", domain=DOMAIN, partitions=partitions, **options)
    answers = qc.read_answers(path, DOMAIN, **options)
    assert rows_of(store) == rows_in_memory(answers)
    assert store.dropped == answers.dropped


def test_what_is_no_answer_may_be_left_out(write, tmp_path, partitions):
    path = write(FRAME.assign(label=["a", None, "c", "b"]))
    options = {"out_of_domain": "skip"}
    store = partition_parquet(path, tmp_path / "s", domain=DOMAIN, partitions=partitions, **options)
    answers = qc.read_answers(path, DOMAIN, **options)
    assert rows_of(store) == rows_in_memory(answers)
    assert store.dropped == answers.dropped
    assert store.tasks == len(answers.tasks)
    assert store.workers.equals(answers.workers)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (FRAME.assign(label=["a", "b", None, "a"]), "row 2, column 'label': the answer is missing"),
        (FRAME.assign(label=["a", "b", "b", "c"]), "row 3, column 'label': 'c' is outside"),
        (FRAME.assign(worker=["u", None, "u", "w"]), "row 1, column 'worker': the id is missing"),
        (FRAME.assign(task=[1.0, 2.0, None, 3.0]), "row 2, column 'task': the id is missing"),
        (FRAME.assign(task=[[1], [2], [3], [4]]), "column 'task' has list<"),
        (FRAME.rename(columns={"task": "item"}), "column 'task' is missing; there are 'item'"),
        (FRAME[:0], "there is no answer"),
        (
            pd.concat([FRAME] * 3)[:9],
            r"row 4, columns 'task' and 'worker': worker 'u' answered task 7 in row 0 already\.",
        ),
    ],
)
def test_wrong_rows_are_named(write, tmp_path, frame, words):
    path = write(frame.reset_index(drop=True))
    with pytest.raises(AnswerError, match=words) as error:
        partition_parquet(path, tmp_path / "s", domain=DOMAIN, partitions=1)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == ["answers.parquet"]


def test_rows_far_down_are_named_too(write, tmp_path, partitions):
    frame = pd.DataFrame({"task": range(50), "worker": "u", "label": ["a"] * 40 + ["c"] * 10})
    with pytest.raises(AnswerError, match="row 40, column 'label': 'c'"):
        partition_parquet(write(frame), tmp_path / "s", domain=DOMAIN, partitions=partitions)
    again = pd.concat([frame[:40], frame[20:21]])
    with pytest.raises(AnswerError, match=r"row 40, .* task 20 in row 20 already"):
        partition_parquet(write(again), tmp_path / "s", domain=DOMAIN, partitions=partitions)


def test_a_pair_may_be_repeated_in_another_file(write, tmp_path, partitions):
    paths = [write(FRAME, "one.parquet"), write(FRAME[1:2], "two.parquet")]
    with pytest.raises(AnswerError, match=r"two.parquet: row 0, .*in row 1 of .*one.parquet"):
        partition_parquet(paths, tmp_path / "s", domain=DOMAIN, partitions=partitions)


def test_nothing_is_left(write, tmp_path):
    path = write(FRAME.assign(label="c"))
    with pytest.raises(AnswerError, match="no answer lies in the domain"):
        partition_parquet(path, tmp_path / "s", domain=DOMAIN, out_of_domain="skip")


@pytest.mark.slow
def test_a_device_that_left_tasks_out_is_refused(crowd_files, tmp_path, partitions):
    reports = qc.read_reports(crowd_files / "null.parquet")
    table = reports.to_frame("pyarrow")[1:]
    note = {b"quietcrowd": json.dumps({"mechanism": reports.mechanism.to_dict()}).encode()}
    pq.write_table(table.replace_schema_metadata(note), tmp_path / "r.parquet")
    with pytest.raises(AnswerError, match="every worker reports every task, but worker 'w0'"):
        partition_parquet(tmp_path / "r.parquet", tmp_path / "s", partitions=partitions)


def test_reports_with_options_per_task_cannot_be_partitioned(tmp_path):
    frame = pd.DataFrame({"task": ["t"], "worker": ["a"], "label": ["x"]})
    answers = qc.Answers.from_frame(frame, options={"t": ["x", "y"]})
    reports = qc.RandomizedResponse(domain=answers.domain, epsilon=1.0).randomize(answers)
    qc.write_reports(reports, tmp_path / "r.parquet")
    with pytest.raises(FormatError, match="options per task cannot be in a store"):
        partition_parquet(tmp_path / "r.parquet", tmp_path / "store")


def test_sketches_cannot_be_partitioned(tmp_path):
    crowd = qc.make_crowd(kind="sparse", tasks=8, workers=9, sparsity=0.5, random_state=1)
    mechanism = MatrixFactorization(domain=crowd.answers.domain, epsilon=1.0)
    reports = mechanism.simulate(crowd.answers, random_state=1)
    qc.write_reports(reports, tmp_path / "r.parquet")
    with pytest.raises(FormatError, match="sketches, each about all tasks"):
        partition_parquet(tmp_path / "r.parquet", tmp_path / "s")


def test_files_that_do_not_go_together(crowd_files, tmp_path):
    paths = [crowd_files / f"{name}.parquet" for name in ("randomised", "laplace")]
    with pytest.raises(AnswerError, match="the answers are in Interval"):
        partition_parquet(paths, tmp_path / "s")
    with pytest.raises(FormatError, match="these are randomized reports"):
        partition_parquet(paths[0], tmp_path / "s", domain=DOMAIN)
    with pytest.raises(MissingMechanismError):
        partition_parquet(crowd_files / "labels.parquet", tmp_path / "s")


def test_files_that_are_no_parquet(tmp_path):
    broken, other = tmp_path / "broken.parquet", tmp_path / "answers.csv"
    broken.write_bytes(b"PAR1, but no more")
    other.write_text("task,worker,label\n")
    for path, words in ((broken, "cannot be read as Parquet"), (other, r"end in \.parquet")):
        with pytest.raises(FormatError, match=words):
            partition_parquet(path, tmp_path / "s", domain=DOMAIN)
    with pytest.raises(FileNotFoundError):
        partition_parquet(tmp_path / "none.parquet", tmp_path / "s", domain=DOMAIN)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"partitions": 0}, "partitions must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must be a whole number"),
        ({"duplicates": "both"}, "duplicates must be one of"),
        ({"out_of_domain": "keep"}, "out_of_domain must be one of"),
        ({"domain": ["a", "b"]}, "domain must be Categorical"),
        ({"domain": None, "duplicates": "first"}, "reports cannot be dropped"),
    ],
)
def test_parameters_are_checked(write, tmp_path, parameters, words):
    with pytest.raises(ParameterError, match=words):
        partition_parquet(write(FRAME), tmp_path / "s", **{"domain": DOMAIN, **parameters})


def test_no_file_and_what_is_there_already(write, tmp_path):
    with pytest.raises(ParameterError, match="at least one file"):
        partition_parquet([], tmp_path / "s", domain=DOMAIN)
    path = write(FRAME)
    store = partition_parquet(path, tmp_path / "s", domain=DOMAIN)
    with pytest.raises(ParameterError, match="already exists"):
        partition_parquet(path, tmp_path / "s", domain=qc.Categorical(["a", "b", "c"]))
    assert Store.open(tmp_path / "s").fingerprint == store.fingerprint
    with pytest.raises(FileNotFoundError, match="no such directory"):
        partition_parquet(path, tmp_path / "no" / "s", domain=DOMAIN)


def test_stopping_leaves_nothing(write, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    path = write(FRAME)
    monkeypatch.setattr("quietcrowd.scale.writing.write_partition", stop)
    with pytest.raises(KeyboardInterrupt):
        partition_parquet(path, tmp_path / "s", domain=DOMAIN)
    assert [file.name for file in tmp_path.iterdir()] == ["answers.parquet"]


def test_the_number_of_partitions_follows_that_of_the_rows(write, tmp_path, monkeypatch):
    monkeypatch.setattr("quietcrowd.scale.importing.ROWS_PER_PARTITION", 2)
    store = partition_parquet(write(FRAME), tmp_path / "s", domain=DOMAIN, progress=True)
    assert len(store.partitions) == 2


@pytest.mark.parametrize("name", ["task", "worker", "label"])
def test_a_column_that_is_there_twice(tmp_path, name):
    table, path = pa.Table.from_pandas(FRAME), tmp_path / "a.parquet"
    pq.write_table(table.append_column(name, table[name]), path)
    with pytest.raises(FormatError, match=f"a.parquet: 2 columns have the name '{name}'"):
        partition_parquet(path, tmp_path / "s", domain=DOMAIN)
    with pytest.raises(FormatError, match=f"a.parquet: 2 columns have the name '{name}'"):
        qc.read_answers(path, DOMAIN)


@pytest.mark.parametrize("name", ["task", "worker"])
def test_ids_that_arrow_cannot_print(tmp_path, name):
    table, path = pa.Table.from_pandas(FRAME), tmp_path / "a.parquet"
    halves = pa.array(np.arange(4).astype(np.float16))
    place = table.column_names.index(name)
    pq.write_table(table.set_column(place, name, halves), path)
    words = f"'{name}' has halffloat values; .* Convert them to strings first"
    with pytest.raises(AnswerError, match=words):
        partition_parquet(path, tmp_path / "s", domain=DOMAIN)
    with pytest.raises(AnswerError, match=words):
        qc.read_answers(path, DOMAIN)


def test_there_are_no_more_partitions_than_rows(write, tmp_path):
    store = partition_parquet(write(FRAME), tmp_path / "s", domain=DOMAIN, partitions=10_000)
    assert len(store.partitions) == len(FRAME)


def test_a_file_made_of_a_frame_of_reports_is_none_of_answers(tmp_path):
    crowd = qc.make_crowd(tasks=5, workers=10)
    domain = crowd.answers.domain
    reports = qc.RandomizedResponse(domain=domain, epsilon=1.0).randomize(crowd.answers)
    path = tmp_path / "a.parquet"
    reports.to_frame().to_parquet(path)
    with pytest.raises(FormatError, match="these are randomized reports"):
        partition_parquet(path, tmp_path / "s", domain=domain)
    assert partition_parquet(path, tmp_path / "s").mechanism == reports.mechanism


def test_a_store_never_counts_a_report_twice(tmp_path):
    """It refuses what is read as fewer reports in memory."""
    note = report_note(qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0), simulated=False)
    frame = FRAME.assign(again=[False, True, False, False], campaign="one")
    one, other, copied = (tmp_path / f"{name}.parquet" for name in ("one", "other", "copied"))
    write_table(frame, one, note)
    write_table(FRAME.assign(worker=["x", "y", "x", "z"]), other, note)
    write_table(frame, copied, {**note, "copies": {"7": "7", "8": "7"}})
    assert len(rows_of(partition_parquet(one, tmp_path / "alone"))) == 4
    with pytest.raises(FormatError, match=r"one\.parquet: some reports were sent again"):
        partition_parquet([one, other], tmp_path / "both")
    with pytest.raises(FormatError, match=r"copied\.parquet: some tasks are copies"):
        partition_parquet(copied, tmp_path / "copies")


def test_a_store_of_several_mechanisms(tmp_path, partitions):
    strong = qc.RandomizedResponse(domain=LABELS, epsilon=4.0)
    devices = [qc.RandomizedResponse(domain=LABELS, epsilon=0.5), strong]
    devices.append(qc.SubsetSelection(domain=LABELS, epsilon=1.0))
    rows = draw_rows("labels")
    parts = []
    for place, device in enumerate(devices):
        mine = rows["task"].str.len() % 2 == place if place < 2 else rows["worker"] == "w5"
        mine &= (rows["worker"] == "w5") == (place == 2)
        parts.append(device.simulate(qc.Answers.from_frame(rows[mine], LABELS), random_state=1))
        qc.write_reports(parts[-1], tmp_path / f"{place}.parquet")
    joined = qc.join_reports(*parts)
    qc.write_reports(joined, tmp_path / "joined.parquet")
    several = [tmp_path / f"{place}.parquet" for place in range(3)]
    for name, paths in (("one", [tmp_path / "joined.parquet"]), ("several", several)):
        made = partition_parquet(paths, tmp_path / name, partitions=partitions)
        store = Store.open(tmp_path / name)
        assert store.fingerprint == made.fingerprint
        assert store.mechanism == joined.mechanism
        assert store.simulated
        summary = Observations.read(joined, qc.NoiseAware()).summary
        assert np.array_equal(store.summary.answers_per_part, summary.answers_per_part)
        assert store.workers.to_pylist() == joined.table.workers.to_pylist()
        values = [store.partition(place).values for place in range(partitions)]
        assert np.array_equal(np.sort(np.concatenate(values)), np.sort(joined.table.values))
        with pytest.raises(AnswerError, match="NoiseAware"):
            infer_store(store, qc.DawidSkene(), tmp_path / "t.parquet")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QuietcrowdWarning)
            found = infer_store(store, qc.NoiseAware(max_iter=4), tmp_path / "t.parquet")
            assert found.history == qc.NoiseAware(max_iter=4).fit(joined).history


def test_a_store_of_several_mechanisms_is_checked(tmp_path):
    first, second = (qc.RandomizedResponse(domain=DOMAIN, epsilon=one) for one in (1.0, 2.0))
    rows = pd.DataFrame({"task": ["a", "b"], "worker": ["u", "u"], "label": ["a", "b"]})
    joined = qc.join_reports(first.randomize(rows), second.randomize(rows.assign(worker="v")))
    path = tmp_path / "joined.parquet"
    qc.write_reports(joined, path)
    note = read_note(path)
    table = pq.read_table(path)
    write_table(table.set_column(2, "label", pa.array(["a", "b", "c", "a"])), path, note)
    with pytest.raises(AnswerError, match=r"row 2, column 'label': 'c' is outside"):
        partition_parquet(path, tmp_path / "s")
    write_table(table.drop_columns(["mechanism"]), path, note)
    with pytest.raises(AnswerError, match="no column 'mechanism'"):
        partition_parquet(path, tmp_path / "s")
    hashes = pa.array([first.short_hash] * 3 + ["qc-0123456789abcdef"])
    write_table(table.set_column(3, "mechanism", hashes), path, note)
    with pytest.raises(AnswerError, match=r"row 3, .* is unknown"):
        partition_parquet(path, tmp_path / "s")


def test_reports_without_a_description_are_not_read_as_answers(tmp_path):
    device = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
    rows = pd.DataFrame({"task": ["a"], "worker": ["u"], "label": ["a"]})
    path = tmp_path / "lost.parquet"
    write_table(device.randomize(rows).to_frame("polars"), path)
    with pytest.raises(FormatError, match="these are randomized reports"):
        partition_parquet(path, tmp_path / "s", domain=DOMAIN)
    with pytest.raises(MissingMechanismError, match="does not describe the mechanism"):
        partition_parquet(path, tmp_path / "s")
