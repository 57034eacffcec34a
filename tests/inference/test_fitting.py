"""How far a reader has to jump to follow one fit."""

import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

import quietcrowd as qc

FOLDER = str(Path(qc.__file__).parent)


def files_of_calls(run):
    """Return the file of the package for each call of a named function, in order."""
    files = []

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name[0] != "<" and code.co_filename.startswith(FOLDER):
            files.append(code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
@pytest.mark.parametrize(
    ("method", "noisy", "most_files", "most_switches"),
    [
        (qc.NoiseAware(groups=False), True, 20, 400),
        (qc.NoiseAware(), True, 25, 600),  # with the search for groups
        (qc.DawidSkene(), False, 14, 200),
    ],
)
def test_one_fit_stays_within_few_files(method, noisy, most_files, most_switches):
    crowd = qc.make_crowd(tasks=300, workers=50, random_state=1)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    data = crowd.answers
    if noisy:
        data = mechanism.simulate(crowd.answers, random_state=1)
    method.fit(data)  # what is computed once per mechanism
    files = files_of_calls(lambda: method.fit(data))
    assert len(set(files)) <= most_files, sorted(set(files))
    assert sum(one != other for one, other in pairwise(files)) <= most_switches
