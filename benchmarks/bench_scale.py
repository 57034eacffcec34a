"""Stores of 10^7 and 10^8 answers: import, sweeps, memory, a Dask cluster; partitions."""

import shutil

import pytest

import quietcrowd as qc
from drawn import drawn
from own_process import run_script
from quietcrowd.inference.loop import available_threads, run_loop
from timing import least_seconds

WORKERS = 100_000
SWEEPS = 20
SIZES = {"10^7": 10**7, "10^8": 10**8}
ROOM = 12e9
"""Bytes that the file and the store of 10^8 answers take, and what is put aside on the way."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with room; it is emptied in the end."""
    place = tmp_path_factory.mktemp("scale")
    if shutil.disk_usage(place).free < ROOM:
        pytest.skip(f"{place} has less than {ROOM / 1e9:.0f} GB of room")
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def stores(folder):
    """Return the store of each size and what its import took."""
    found = {}
    for name, rows in SIZES.items():
        path, store = folder / "answers.parquet", folder / name
        run_script("big_file.py", path, rows, WORKERS)
        found[name] = store, run_script("store_run.py", "import", path, store)
        path.unlink()
    return found


def test_import(stores, compare, remark):
    """From Parquet to a store."""
    taken = stores["10^8"][1]
    compare("10^8 rows from Parquet into a store", taken["seconds"], "the limit of 150 s", 150.0, 1)
    remark(
        f"Peak memory of writing a store of 10^8 rows: {taken['gigabytes']:.2f} GB (goal: below 3)."
    )


def test_sweeps(stores, compare, remark):
    """Twenty passes of weighted voting over files, and the memory that they take."""
    runs = {
        name: run_script("store_run.py", "sweep", store, SWEEPS, "threads")
        for name, (store, _) in stores.items()
    }
    large, small = runs["10^8"], runs["10^7"]
    name = "20 weighted-vote sweeps over a store of 10^8 answers of 10^5 workers"
    compare(name, large["seconds"], "the limit of 15 s", 15.0, 1)
    remark(
        f"Peak resident memory of these sweeps: {large['gigabytes']:.3g} GB (goal: below 0.5), "
        f"{large['gigabytes'] / small['gigabytes']:.3g} times the {small['gigabytes']:.3g} GB of "
        f"10^7 answers (goal: at most 1.3); the fastest sweep takes "
        f"{large['least'] / 1e8 * 1e9:.3g} ns per answer."
    )


def test_noise_aware_memory(stores, remark):
    """Passes of the method that knows the noise over the large store, and the memory they take."""
    run = run_script("store_run.py", "sweep", stores["10^8"][0], 6, "threads", "noise-aware")
    remark(
        "Peak resident memory of five noise-aware sweeps over a store of 10^8 answers: "
        f"{run['gigabytes']:.3g} GB (goal: at most 0.6); the fastest sweep and update take "
        f"{run['least'] / 1e8 * 1e9:.3g} ns per answer."
    )


def test_dask(benchmark, stores, compare):
    """The same passes on a local cluster of two workers, against threads, turn and turn about."""
    store, _ = stores["10^8"]
    seconds = {"dask": [], "threads": []}

    def both():
        for kind, found in seconds.items():
            found.append(run_script("store_run.py", "sweep", store, SWEEPS, kind)["least"])

    benchmark.pedantic(both, rounds=3)
    compare(
        "a weighted-vote sweep over 10^8 answers on a Dask cluster of 2 local workers",
        min(seconds["dask"]),
        "1.3 times the same in one process",
        1.3 * min(seconds["threads"]),
        1,
    )


def test_partitions(benchmark, tabulate):
    """10^7 answers in memory, in more and more partitions."""
    partition, summary = drawn(10**7, WORKERS, 4)
    model = qc.WeightedVote(max_iter=3, tol=0).bind(summary)

    def seconds(parts):
        split = partition.split(parts)
        return least_seconds(lambda: run_loop(model, split), rounds=3)

    counts = (available_threads(), 8, 64, 512)
    times = benchmark.pedantic(lambda: {parts: seconds(parts) for parts in counts}, rounds=1)
    tabulate(
        "Three iterations and the estimates over 10^7 answers of 10^5 workers, by partitions",
        {f"{parts}": f"{time:.3g} s" for parts, time in times.items()},
    )
