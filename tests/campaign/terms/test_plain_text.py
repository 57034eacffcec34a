import pytest

from quietcrowd.campaign.terms.plain_text import one_line, printable


@pytest.mark.parametrize("text", ["Is it red?", "Ist es grün?\n\tja", "می‌خواهم", "👩‍👩‍👧"])
def test_words_stay_as_they_are(text):
    assert printable(text) == text


@pytest.mark.parametrize("text", ["\x1b[2J", "\r", "\x7f", "\x9b", "\u202e", "\ud800", "\b"])
def test_what_moves_a_terminal_does_not(text):
    assert printable(f"a{text}b") == f"a{text.replace(text[0], chr(0xFFFD), 1)}b"


def test_one_line():
    assert one_line(" a\r\n b\tc ") == "a b c"
