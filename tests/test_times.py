"""Times in the spellings of platforms, and those with several readings."""

import datetime

import pandas as pd
import pytest

from quietcrowd import Answers, Categorical
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.times import seconds

NOON = 1704207600.0  # 2024-01-02, 15:00 UTC


@pytest.mark.parametrize(
    "value",
    [
        *("Tue Jan 02 07:00:00 PST 2024", "Tue Jan 02 15:00:00 UTC 2024"),
        *(
            "2024-01-02T15:00:00Z",
            "2024-01-02 07:00:00-08:00",
            1704207600,
            1704207600.0,
            1704207600000,
        ),
        "2024-01-02 15:00:00 UTC",
    ],
)
def test_every_spelling_is_the_same_time(value):
    assert seconds([value, None, ""]).to_pylist() == [NOON, None, None]


def test_local_times_are_in_one_zone():
    local = ["2024-01-02T15:00:01.5", "2024-01-02 15:00:00"]
    assert seconds(local).to_pylist() == [NOON + 1.5, NOON]
    assert seconds([*local, "2024-01-02T15:00:00Z"]) is None


def test_slashes_need_a_day_that_is_no_month():
    assert seconds(["1/2/2024 15:00", "1/13/2024 0:00:01"]).to_pylist() == [NOON, 1705104001.0]
    assert seconds(["1/2/2024 15:00"]) is None
    assert seconds(["13/1/2024 15:00"]) is None
    assert seconds(["13/1/2024 15:00", "1/13/2024 15:00"]) is None


@pytest.mark.parametrize(
    "values",
    [
        *([], [None], ["noon"], [True], [float("nan")], [1e300], [10**400], [["2024"]], [{}]),
        *(["Tue Jan 02 07:00:00 IST 2024"], ["Tue Jan 32 07:00:00 PST 2024"], ["2/30/2024 1:00"]),
        ["2024-01-02T15:00:00Z", "noon"],
    ],
    ids=lambda values: repr(values)[:30],
)
def test_others_are_none(values):
    assert seconds(values) is None


def test_datetimes_are_times():
    noon = datetime.datetime(2024, 1, 2, 15)
    assert seconds([noon, datetime.date(2024, 1, 2)]).to_pylist() == [NOON, NOON - 15 * 3600]


def rows(**times):
    return pd.DataFrame(
        {
            "task": ["q", "p", "p", "p"],
            "worker": ["a"] * 4,
            "label": ["cat", "dog", "cat", "cat"],
            **times,
        }
    )


def last(frame):
    answers = Answers.from_frame(frame, Categorical(["cat", "dog"]), duplicates="last")
    return answers.to_frame("pyarrow")["label"].to_pylist()


@pytest.mark.parametrize("name", ["updated_at", "created_at", "submitted_at"])
def test_the_last_answer_is_the_latest_one(name):
    times = ["2024-01-01", "2024-01-03", "2024-01-02", None]
    with pytest.warns(QuietcrowdWarning, match=f"order of column '{name}', not of rows. Rows: 3"):
        assert last(rows(**{name: times})) == ["cat", "dog"]
    with pytest.warns(QuietcrowdWarning, match="order of column"):
        assert last(rows(**{name: pd.to_datetime(times)})) == ["cat", "dog"]


def test_times_that_cannot_be_compared_are_named(recwarn):
    assert last(rows(timestamp=["2024"] * 4)) == ["cat", "cat"]
    assert not recwarn
    times = ["noon"] * 4
    with pytest.warns(
        QuietcrowdWarning, match="order of rows, because their times, such as 'noon'"
    ):
        assert last(rows(updated_at=times)) == ["cat", "cat"]
    with pytest.warns(QuietcrowdWarning, match="columns 'updated_at' and 'created_at' are both"):
        assert last(rows(updated_at=times, created_at=times)) == ["cat", "cat"]
