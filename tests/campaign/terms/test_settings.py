import pytest

from quietcrowd.campaign.terms.settings import byte_count
from quietcrowd.exceptions import ParameterError


@pytest.mark.parametrize(
    ("written", "bytes_"),
    [
        ("1GB", 10**9),
        ("800 MB", 8 * 10**8),
        ("1.5gb", 15 * 10**8),
        ("2GiB", 2**31),
        ("100", 100),
        (10**9, 10**9),
        ("0", 0),
    ],
)
def test_bytes_are_written_as_people_do(written, bytes_):
    assert byte_count(written) == bytes_


@pytest.mark.parametrize("written", ["", "much", "-1GB", "1 G", "1e9", "GB", "nan"])
def test_what_is_no_number_of_bytes(written):
    with pytest.raises(ParameterError, match=r"such as 800MB, 1\.5GB or 2GiB; got"):
        byte_count(written)
