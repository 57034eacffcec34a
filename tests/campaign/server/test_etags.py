import pytest

from quietcrowd.campaign.server.etags import known_already, not_modified


@pytest.mark.parametrize(
    ("if_none_match", "known"),
    [
        (None, False),
        ("", False),
        ('"a"', True),
        ('W/"a", "b"', True),
        ("*", True),
        ('"a-0"', False),
    ],
)
def test_what_is_known_is_told_by_its_tag(if_none_match, known):
    assert known_already('"a"', if_none_match) == known


def test_what_is_known_is_not_sent_again():
    answer = not_modified('"a"')
    assert (answer.status_code, answer.body, answer.headers["etag"]) == (304, b"", '"a"')
