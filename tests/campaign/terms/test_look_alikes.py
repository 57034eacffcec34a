import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.campaign.terms.write_confusables import icu_skeletons, written

from quietcrowd.campaign.terms.look_alikes import TABLE, letters_alike, skeleton

CYRILLIC = "\u0430\u0441\u0435\u043e"
ASCII = "".join(map(chr, range(32, 127)))

try:
    ICU = icu_skeletons()
except OSError:
    ICU = None

with_icu = pytest.mark.skipif(ICU is None, reason="ICU 72 is not installed")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("aceo", CYRILLIC),
        ("Il1|", "llll"),
        ("10", "lO"),
        ("modern", "rnodem"),
        ("\U0001d41ab", "ab"),
        ("caf\u00e9", "cafe\u0301"),
        ("\u01c3", "!"),
    ],
)
def test_texts_that_look_alike_have_one_skeleton(one, other):
    assert skeleton(one) == skeleton(other)


def test_ordinary_texts_are_their_own_skeletons():
    kept = set(ASCII) - set('"%01I`|')
    assert {one for one in ASCII if skeleton(one) == one} == kept
    assert skeleton("summer") == "summer"


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        ("l\u0441l", "lcl"),
        ("I", "l"),
        ("10", "10"),
        ("\u0417\u0430", "\u0417a"),  # Cyrillic Ze is no digit 3
        ("b\u00f8r", "b\u00f8r"),
        ("\u05e9\u05dc\u05d9", "\u05e9\u05dc\u05d9"),
        ("no\u01c3", "no!"),
    ],
)
def test_of_letters_only_those_that_look_like_letters_or_marks_are_replaced(text, alike):
    assert letters_alike(text) == unicodedata.normalize("NFD", alike)


def test_the_page_does_not_grow_much_by_the_table():
    assert TABLE.stat().st_size < 40_000


@with_icu
@pytest.mark.slow
def test_the_table_is_what_icu_says():
    assert TABLE.read_text("utf-8") == written()


@with_icu
@given(st.text(max_size=8))
def test_a_skeleton_is_that_of_icu(text):
    assigned = "".join(one for one in text if unicodedata.category(one) not in ("Cn", "Cs"))
    assert skeleton(assigned) == ICU(assigned).replace("rn", "m")
