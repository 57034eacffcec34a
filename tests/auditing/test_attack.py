"""What an adversary sees: rows by worker and task, whatever comes or does not."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attrs import evolve

from quietcrowd import Answers, Interval, LaplaceMechanism, Ordinal, Reports
from quietcrowd.auditing.attack import Observed
from quietcrowd.exceptions import AnswerError

LEVELS = Ordinal(range(5))


class Plain:
    """A mechanism of which only the domain of its reports is looked at."""

    report_domain = LEVELS
    participation_domain = None
    options = None


def reports(rows, workers=range(3)):
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    table = Answers.from_frame(frame, LEVELS, tasks=sorted(set(frame["task"])), workers=workers)
    return Reports(table=table, mechanism=Plain())


def test_a_full_table():
    seen = Observed.of(reports([(t, w, t + w) for t in (0, 1) for w in range(3)]), [0, 1], 3)
    assert seen.cells.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert seen.counts.tolist() == [2, 2, 2]
    assert seen.bits is None
    assert seen.sketches is None


def test_what_is_missing_is_nan_and_what_is_too_much_counts():
    sent = reports([(0, 0, 4), (0, 2, 1), (7, 2, 3)])
    seen = Observed.of(sent, [1, 0], 4)
    np.testing.assert_array_equal(
        seen.cells, [[np.nan, 4], [np.nan, np.nan], [np.nan, 1], [np.nan, np.nan]]
    )
    assert seen.counts.tolist() == [1, 0, 2, 0]


def test_of_repeated_reports_the_first_is_taken():
    table = reports([(0, 0, 4), (0, 1, 2)]).table
    twice = evolve(
        table,
        offsets=[0, 3],
        worker_codes=np.array([0, 0, 1]),
        values=np.array([4, 3, 2], table.values.dtype),
    )
    seen = Observed.of(Reports(table=twice, mechanism=Plain()), [0], 2 + 1)
    np.testing.assert_array_equal(seen.cells, [[4], [2], [np.nan]])
    assert seen.counts.tolist() == [2, 1, 0]


def test_workers_in_another_order():
    seen = Observed.of(reports([(0, 2, 4), (0, 1, 2)], workers=[2, 1]), [0], 3)
    np.testing.assert_array_equal(seen.cells, [[np.nan], [2], [4]])


def test_workers_whom_nobody_asked():
    with pytest.raises(AnswerError, match=r"worker 9 reports, but the 3 workers.* are 0 to 2"):
        Observed.of(reports([(0, 9, 4)], workers=[9]), [0], 3)


def test_sketches_of_absent_workers_are_missing():
    sent = evolve(reports([(0, 1, 0)], workers=[2, 1]), sketches=np.array([[1, 2], [3, 4]]))
    seen = Observed.of(sent, [0], 3)
    np.testing.assert_array_equal(seen.sketches, [[np.nan, np.nan], [3, 4], [1, 2]])
    assert seen.counts.tolist() == [0, 1, 1]


def test_participation_bits_stand_beside_their_reports():
    mechanism = LaplaceMechanism(
        domain=Interval(low=0, high=1), epsilon=1.0, participation="released"
    )
    frame = pd.DataFrame({"task": [0, 1], "worker": [0, 1], "label": [0.0, 1.0]})
    sent = mechanism.randomize(Answers.from_frame(frame, mechanism.domain))
    seen = Observed.of(sent, [1, 0], 2)
    codes = sent.participation_codes.reshape(2, 2)
    assert seen.bits.tolist() == codes[::-1].T.tolist()
    assert pa.array(seen.cells[:, 1]).to_pylist() == sent.table.values[:2].tolist()


def test_workers_whose_names_begin_later():
    seen = Observed.of(reports([(0, 7, 4), (0, 8, 2)], workers=[7, 8]), [0], 2, first=7)
    assert seen.cells.tolist() == [[4], [2]]
    with pytest.raises(AnswerError, match=r"worker 7 reports, but the 2 workers.* are 8 to 9"):
        Observed.of(reports([(0, 7, 4)], workers=[7]), [0], 2, first=8)


def test_parts_are_joined():
    parts = [Observed.of(reports([(0, 0, value)], workers=[0]), [0], 1) for value in (4, 2)]
    seen = Observed.joined(parts)
    assert seen.cells.tolist() == [[4], [2]]
    assert seen.counts.tolist() == [1, 1]
    assert (seen.bits, seen.sketches) == (None, None)
    with_bits = [evolve(part, bits=part.cells) for part in parts]
    assert Observed.joined(with_bits).bits.tolist() == [[4], [2]]


def test_equal_messages_are_equal_in_all_that_was_sent():
    seen = Observed.of(reports([(t, w, 1) for t in (0, 1) for w in range(3)]), [0, 1], 4)
    first, second, third, silent = seen.messages
    assert first == second == third != silent
    cells = seen.cells.copy()
    cells[0, 1], cells[1, 1], cells[2, 1] = 2.0, -0.0, 0.0
    first, second, third, _ = evolve(seen, cells=cells).messages
    assert first != second == third
    bits = np.array([[0, 1], [0, 0], [0, 1], [0, 1]], float)
    assert evolve(seen, bits=bits).messages[0] != evolve(seen, bits=bits).messages[1]
    assert evolve(seen, counts=np.array([3.0, 2, 2, 0])).messages[0] != seen.messages[0]
