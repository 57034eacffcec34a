import pytest

from quietcrowd.campaign.server.metrics.counters import (
    BATCH_UPLOADS,
    COMMITS,
    KINDS,
    QUEUE_DEPTH,
    REPORTS,
    Sample,
    Tally,
)


def test_names_are_those_of_one_house_and_say_the_unit():
    for name, kind in KINDS.items():
        assert name.startswith("quietcrowd_")
        assert kind.about.endswith(".")
        assert list(kind.bounds) == sorted(set(kind.bounds))
        assert (kind.form == "histogram") == bool(kind.bounds)


def test_labels_name_routes_and_outcomes_and_nobody():
    labels = {label for kind in KINDS.values() for label in kind.labels}
    assert labels == {"method", "route", "status", "outcome"}


@pytest.mark.parametrize(("value", "bucket"), [(1, 0), (2, 1), (3, 2), (100, 6), (101, 7)])
def test_the_end_of_a_bucket_is_in_it(value, bucket):
    assert BATCH_UPLOADS.bucket(value) == bucket


def test_the_last_bucket_stands_for_its_lower_end():
    middles = [BATCH_UPLOADS.middle(bucket) for bucket in range(8)]
    assert middles == [0.5, 1.5, 3.5, 7.5, 15.0, 35.0, 75.0, 100.0]


SENT = Sample(REPORTS.name, ("accepted",))
FIRST, SECOND = b"first", b"second"


def count(tally, campaign=FIRST):
    tally.count("workers", COMMITS)
    tally.hold(campaign, REPORTS, "accepted", by=10)


def test_nothing_ripens_before_a_release_has_told_of_enough():
    tally = Tally()
    assert tally.take_ripe(5) is None
    for _ in range(4):
        count(tally)
        tally.released({})
        assert tally.take_ripe(5) is None
    tally.released({FIRST: 4})
    assert tally.take_ripe(5) is None
    tally.released({SECOND: 1})
    assert tally.take_ripe(5).counts == {Sample(COMMITS.name): 4, SENT: 40}
    assert tally.take_ripe(5) is None


def test_what_comes_after_a_release_is_not_part_of_it():
    tally = Tally()
    tally.take_ripe(2)
    count(tally)
    tally.reach(QUEUE_DEPTH, 3)
    tally.released({FIRST: 2})
    count(tally)
    tally.reach(QUEUE_DEPTH, 9)
    ripe = tally.take_ripe(2)
    assert ripe.counts == {Sample(COMMITS.name): 1, SENT: 10}
    assert ripe.peaks == {Sample(QUEUE_DEPTH.name): 3}


def test_reports_of_a_campaign_wait_for_its_own_release():
    tally = Tally()
    tally.take_ripe(2)
    count(tally, FIRST)
    count(tally, SECOND)
    tally.released({SECOND: 2})
    assert tally.take_ripe(2).counts == {Sample(COMMITS.name): 2, SENT: 10}
    tally.released({FIRST: 2})
    assert tally.take_ripe(2).counts[SENT] == 20


def test_a_larger_number_meanwhile_counts():
    tally = Tally()
    tally.take_ripe(2)
    count(tally)
    tally.released({FIRST: 2})
    assert tally.take_ripe(5) is None
    tally.released({FIRST: 3})
    assert tally.take_ripe(5) is not None


def test_where_nobody_waits_all_is_told():
    tally = Tally()
    count(tally)
    tally.released({FIRST: 1})
    assert tally.take_ripe(1).counts == {Sample(COMMITS.name): 1, SENT: 10}
    count(tally)
    assert tally.take_ripe(1).counts[Sample(COMMITS.name)] == 2
