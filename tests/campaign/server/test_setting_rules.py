import pytest

from quietcrowd.campaign.server.setting_rules import allowed, require_no_contradiction
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.exceptions import ParameterError


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


@pytest.mark.parametrize(
    ("part", "whole"), [("at_once_each", "at_once"), ("connections_each", "connections")]
)
def test_a_contradiction_is_one_line_that_names_both_and_the_way_out(part, whole):
    with pytest.raises(ParameterError) as caught:
        require_no_contradiction(Settings.model_construct(**{part: 5_000, whole: 10}))
    assert str(caught.value) == (
        f"{part} is 5,000 and {whole} is 10: one cannot have more than all. "
        f"Give {part} at most 10, or {whole} at least 5,000."
    )
    require_no_contradiction(Settings.model_construct(**{part: 10, whole: 10}))
