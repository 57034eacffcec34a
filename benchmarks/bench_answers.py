"""How fast answers are read."""

import pytest

import quietcrowd as qc
from crowds import with_text_ids
from own_process import run_script
from quietcrowd.formats import write_table


def test_frame_with_text_ids(benchmark, million, crowd_kit, compare):
    """10^6 rows from a pandas frame, against an iteration of crowd-kit on the same frame."""
    frame = with_text_ids(million.answers).to_pandas()
    answers = benchmark.pedantic(
        qc.Answers.from_frame, (frame, million.answers.domain), rounds=7, warmup_rounds=1
    )
    assert len(answers) == 1_000_000
    compare(
        "10^6 rows with text ids from a pandas frame into Answers",
        benchmark.stats.stats.min,
        "one iteration of crowd-kit's Dawid-Skene on that frame",
        crowd_kit["DawidSkene, text ids"],
        2,
    )


@pytest.fixture(scope="module")
def big_file(tmp_path_factory):
    """Return a Parquet file of 10^7 rows: text ids, 10^6 tasks, random order."""
    crowd = qc.make_crowd(
        tasks=1_000_000, workers=100_000, answers_per_task=10, labels=range(4), random_state=1
    )
    path = tmp_path_factory.mktemp("big") / "answers.parquet"
    write_table(with_text_ids(crowd.answers), path)
    return path


def test_parquet(benchmark, big_file, compare, remark):
    """10^7 rows, against what PyArrow needs to read and encode them; least of five, in turn."""
    runs = {"quietcrowd": [], "pyarrow": []}

    def run_both():
        for name, results in runs.items():
            results.append(run_script("read_parquet.py", name, big_file))

    benchmark.pedantic(run_both, rounds=5)
    ours, theirs = (min(run["seconds"] for run in results) for results in runs.values())
    compare(
        "10^7 rows with text ids from Parquet into Answers",
        ours,
        "PyArrow, reading and encoding",
        theirs,
        0.5,
    )
    peak = max(run["gigabytes"] for run in runs["quietcrowd"])
    remark(f"Peak memory of reading 10^7 rows from Parquet: {peak:.2f} GB (goal: below 1.5).")
