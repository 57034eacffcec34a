import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.inference.partition import Partition, Summary


def answers_with(sizes):
    rows = [(task, worker, 1) for task, size in enumerate(sizes) for worker in range(size)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    return Answers.from_frame(frame, Categorical([0, 1]), tasks=range(len(sizes)))


@pytest.mark.parametrize("sizes", [[1], [3, 0, 2], [0, 0, 5, 0], [9, 1, 1, 1, 1], list(range(20))])
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
def test_split_keeps_every_task_once_and_in_order(sizes, parts):
    whole = Partition.of(answers_with(sizes))
    split = whole.split(parts)
    assert 1 <= len(split) <= parts
    assert np.array_equal(np.concatenate([part.draws for part in split]), whole.draws)
    starts = [part.offsets[0] for part in split]
    ends = [part.offsets[-1] for part in split]
    assert starts[0] == 0
    assert ends[-1] == sum(sizes)
    assert starts[1:] == ends[:-1]


def test_parts_have_about_as_many_answers_each():
    sizes = np.random.default_rng(0).integers(1, 30, 1_000)
    counts = [
        part.offsets[-1] - part.offsets[0] for part in Partition.of(answers_with(sizes)).split(4)
    ]
    assert max(counts) - min(counts) <= 60


def test_draws_depend_on_what_an_id_prints_as():
    frame = pd.DataFrame({"task": [7, 8], "worker": 1, "label": 1})
    one = Partition.of(Answers.from_frame(frame, Categorical([1]))).draws
    texts = frame.astype({"task": str}).iloc[::-1]
    other = Partition.of(Answers.from_frame(texts, Categorical([1]))).draws
    assert one.tolist() == other[::-1].tolist()
    assert one[0] != one[1]


def test_ids_of_a_slice_and_beyond_ascii():
    answers = answers_with([1, 1, 1])
    ids = pa.array(["null", "ä", "b", "日本"]).slice(1)
    sliced = Partition.of(
        Answers(
            domain=answers.domain,
            tasks=ids,
            workers=answers.workers,
            offsets=answers.offsets,
            worker_codes=answers.worker_codes,
            values=answers.values,
        )
    )
    frame = pd.DataFrame({"task": ["ä", "b", "日本"], "worker": 1, "label": 1})
    whole = Partition.of(Answers.from_frame(frame, Categorical([1])))
    assert sliced.draws.tolist() == whole.draws.tolist()


def test_summary():
    summary = Summary.of(answers_with([3, 0, 2]))
    assert summary.answers_per_worker.tolist() == [2, 2, 1]
    assert (summary.longest_task, summary.workers, summary.answers) == (3, 3, 5)
