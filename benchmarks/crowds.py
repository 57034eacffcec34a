"""Crowds that are drawn for timing, through what is public alone."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import quietcrowd as qc

PER_TASK = 10


def crowd_of_a_million(seed):
    """Return a crowd of 10^6 answers: 4 labels, 10 answers per task, 10^4 workers."""
    return qc.make_crowd(
        tasks=100_000, workers=10_000, answers_per_task=PER_TASK, labels=range(4), random_state=seed
    )


def with_text_ids(answers, seed=0):
    """Return the answers as an Arrow table with texts as ids, in random order."""
    order = pa.array(np.random.default_rng(seed).permutation(len(answers)))
    table = answers.to_frame("pyarrow").take(order)
    for place, name in enumerate(("task", "worker")):
        texts = pc.binary_join_element_wise(
            pa.scalar(f"{name}-"), table[name].cast(pa.string()), ""
        )
        table = table.set_column(place, name, texts)
    return table
