from quietcrowd.campaign.server.metrics.kinds import COMMITS, QUEUE_DEPTH, REPORTS, Sample
from quietcrowd.campaign.server.metrics.tally import Tally

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
