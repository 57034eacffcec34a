import pytest

from quietcrowd.campaign.server.setting_rules import allowed
from quietcrowd.campaign.server.settings import Settings


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("database", "a text"),
        ("infer", "true or false"),
        ("port", "a whole number from 0 to 65,535"),
        ("metrics_port", "a whole number from 0 to 65,535"),
        ("debounce", "a number of seconds from 0 to 86,400"),
        ("pool_seconds", "a number of seconds from 0.01 to 600"),
        ("pool_size", "a whole number of connections from 2 to 1,000"),
    ],
)
def test_what_a_setting_may_be_is_told_in_words(name, words):
    assert allowed(Settings, name) == words
