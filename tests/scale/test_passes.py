import pickle

import numpy as np
import pandas as pd
from attrs import evolve

import quietcrowd as qc
from quietcrowd.inference.observations import Observations


def test_a_job_can_be_done_in_another_process(job):
    sent = pickle.loads(pickle.dumps(job.tally))
    for index in range(3):
        assert sent(index, None).sums.tolist() == job.tally(index, None).sums.tolist()
    truths = pickle.loads(pickle.dumps(job.estimate(1, None))).truths
    pd.testing.assert_frame_equal(truths.to_pandas(), job.estimate(1, None).truths.to_pandas())


def test_tallies_add_up_to_that_of_all(job, crowd_files):
    tallies = [job.tally(index, None).sums for index in range(3)]
    method = job.method
    reports = qc.read_reports(crowd_files / "released.parquet")
    partition, summary, _ = method.prepare(Observations.read(reports, method))
    whole = method.sweep(partition, summary, None, None).sums
    assert np.sum(tallies, axis=0).tolist() == whole.tolist()


def test_an_example_is_a_state_as_the_method_makes_it(job):
    example = job.example()
    assert type(example) is type(job.method.update(job.summary, job.tally(1, None), None)[0])
    assert evolve(job, method=qc.Mean()).example() is None
