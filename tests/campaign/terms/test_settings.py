import pytest

from quietcrowd.campaign.terms.settings import Settings
from quietcrowd.exceptions import ParameterError


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": -1},
        {"port": 65_536},
        {"burst": 0},
        {"at_once": 0},
        {"at_once_each": 0},
        {"debounce": -1},
        {"longest_inference": 0},
        {"requests_per_second": float("nan")},
        {"host": 7},
        {"joins_per_minute": -1.0},
        {"joins_at_once": 0},
        {"proxy": "crowd.example"},
    ],
)
def test_settings_have_ranges(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Settings(**wrong)


def test_a_password_in_the_address_of_the_database_is_not_printed():
    assert "secret" not in repr(Settings(database="postgresql://me:secret@host/name"))


def test_the_address_for_workers_has_one_spelling():
    assert Settings().address is None
    assert Settings(address="https://Crowd.Example:443/below/").address == (
        "https://crowd.example/below"
    )
    with pytest.raises(ParameterError, match="without encryption"):
        Settings(address="http://crowd.example")
