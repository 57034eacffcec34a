import pytest

from quietcrowd.campaign.server.metrics.kinds import BATCH_UPLOADS, KINDS


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
