"""How the time of a sweep grows: with answers, workers, labels, threads."""

import pytest

import quietcrowd as qc
from drawn import copy_seconds, drawn, sweep_seconds
from quietcrowd.figures import new_figure
from quietcrowd.inference import WeightedMean
from quietcrowd.inference.loop import available_threads

METHODS = {
    "weighted vote": qc.WeightedVote(),
    "weighted mean": WeightedMean(),
    "Dawid-Skene": qc.DawidSkene(),
    "one coin": qc.DawidSkene(one_coin=True),
    "GLAD": qc.GLAD(),
}
MILLION = 10**6
BUSY = {"GLAD": MILLION}
"""Methods that are timed on no more answers than this: they take long enough."""

NANOSECONDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""What is written at the axes."""

PANELS = {}
"""Seconds per answer by method and number, by what is varied."""


def nanoseconds(name, answers, workers, labels, n_jobs=None):
    """Return those of a sweep per answer."""
    partition, summary = drawn(answers, workers, 0 if name == "weighted mean" else labels)
    return sweep_seconds(METHODS[name], partition, summary, n_jobs) / answers * 1e9


def note(tabulate, what, name, times):
    """Write a row of a table and a line of a picture."""
    PANELS.setdefault(what, {})[name] = times
    row = {"method": name} | {f"{number:,}": f"{time:.3g}" for number, time in times.items()}
    tabulate(f"Nanoseconds per answer and sweep, by {what}", row)


@pytest.mark.parametrize("name", METHODS)
def test_answers(benchmark, name, tabulate):
    """A hundred answers a worker, 4 labels, all cores."""
    sizes = [size for size in (10**5, 10**6, 10**7, 10**8) if size <= BUSY.get(name, 10**8)]
    times = benchmark.pedantic(
        lambda: {size: nanoseconds(name, size, size // 100, 4) for size in sizes}, rounds=1
    )
    note(tabulate, "answers (100 per worker, 4 labels)", name, times)


@pytest.mark.parametrize("name", METHODS)
def test_workers(benchmark, name, tabulate):
    """Four labels, all cores."""
    answers = BUSY.get(name, 10**7)
    crowds = (10**3, 10**4, 10**5, 10**6)
    times = benchmark.pedantic(
        lambda: {workers: nanoseconds(name, answers, workers, 4) for workers in crowds}, rounds=1
    )
    note(tabulate, "workers (10^7 answers, GLAD 10^6; 4 labels)", name, times)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "weighted mean"])
def test_labels(benchmark, name, tabulate):
    """A million answers of 10^4 workers, all cores."""
    kinds = (2, 4, 8, 16, 32, 64)
    times = benchmark.pedantic(
        lambda: {labels: nanoseconds(name, MILLION, 10**4, labels) for labels in kinds}, rounds=1
    )
    note(tabulate, "labels (10^6 answers of 10^4 workers)", name, times)


@pytest.mark.parametrize("name", METHODS)
def test_threads(benchmark, name, tabulate):
    """A million answers of 10^4 workers, 4 labels."""
    counts = range(1, available_threads() + 1)
    times = benchmark.pedantic(
        lambda: {count: nanoseconds(name, MILLION, 10**4, 4, count) for count in counts}, rounds=1
    )
    note(tabulate, "threads (10^6 answers of 10^4 workers, 4 labels)", name, times)


@pytest.mark.parametrize("name", ["weighted vote", "weighted mean"])
def test_pace(benchmark, name, compare, tabulate):
    """10^7 answers of 10^5 workers, against the limit and against the memory's pace."""
    answers = 10**7
    labels = 0 if name == "weighted mean" else 4
    partition, summary = drawn(answers, 10**5, labels)
    seconds = benchmark.pedantic(
        sweep_seconds, (METHODS[name], partition, summary), {"rounds": 15}, rounds=1
    )
    crowd = f"{name}, a sweep over 10^7 answers of 10^5 workers"
    compare(crowd, seconds, "the limit of 4 ns per answer", 4e-9 * answers, 1)
    columns = (partition.offsets, partition.worker_codes, partition.values, partition.known_truths)
    size = sum(column.nbytes for column in columns)
    copied = copy_seconds(size)
    tabulate(
        "Memory bandwidth: 10^7 answers of 10^5 workers",
        {
            "method": name,
            "bytes per answer and sweep": f"{size / answers:.3g}",
            "ns per answer and sweep": f"{seconds / answers * 1e9:.3g}",
            "read, GB/s": f"{size / seconds / 1e9:.3g}",
            "copy of as many bytes, GB/s (read and written)": f"{2 * size / copied / 1e9:.3g}",
        },
    )


def test_picture(picture):
    """Draw what the others measured."""
    if not PANELS:
        pytest.skip("nothing was measured")
    figure = new_figure()
    figure.set_size_inches(11, 8)
    axes = figure.subplots(2, 2).ravel()
    for axis, (what, lines) in zip(axes, PANELS.items(), strict=False):
        for name, times in lines.items():
            colour = f"C{list(METHODS).index(name)}"
            axis.plot(list(times), list(times.values()), marker="o", label=name, color=colour)
        axis.set(xscale="log", yscale="log", xlabel=what, ylabel="ns per answer and sweep")
        numbers = sorted({number for times in lines.values() for number in times})
        axis.set_xticks(numbers, [f"{number:,}" for number in numbers])
        axis.set_yticks(NANOSECONDS, [str(number) for number in NANOSECONDS])
        axis.set_ylim(NANOSECONDS[0], NANOSECONDS[-1])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    words = "Time per answer and sweep, over the numbers of answers, workers and labels."
    picture(figure, "performance-scaling", words)
