import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.pictures import image
from tests.campaign.terms.write_confusables import icu_skeletons, written

from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.campaign.terms.near_copies import (
    TABLE,
    alike,
    largest_group,
    letters_alike,
    letters_hashes,
    look_alike_tasks,
    sent_again,
    skeleton,
)

COIN, SHARED = MECHANISMS["one-layer"], MECHANISMS["two-layer"]
ASK = "Do you take drugs?"


def tasks_of(*shown):
    return [(f"t{place}", data) for place, data in enumerate(shown)]


NEAR = {
    "a number": {"ask": ASK, "n": 2},
    "a text of digits": {"ask": ASK, "n": "12 000"},
    "an id": {"ask": ASK, "n": "a8f3-77"},
    "a date": {"ask": ASK, "n": "2026-11-22"},
    "marks": {"ask": ASK, "n": " -- "},
    "nothing": {"ask": ASK, "n": None},
    "case, spaces and punctuation": {"ask": " do YOU take  \u201cdrugs\u201d?!", "n": 1},
    "wide letters": {"ask": "Do you take \uff44\uff52ugs?", "n": 1},
    "another name of the column": {"question": ASK},
    "a number at the end": {"ask": f"{ASK} (3)"},
    "a number in front": {"ask": f"3. {ASK}"},
    "a number after a word in front": {"ask": f"Question 3: {ASK}"},
    "marks within": {"ask": "Do-you take dr/ugs?"},
    "letters that nobody sees": {"ask": "Do you\u3164 take\u115f drugs?\u17b4"},
    "a nested question": {"q": {"text": ASK, "n": 7}},
    "the same image, described": {"ask": ASK, "n": image(b"1", "In front: 3. A bird.")},
}
OTHER = {
    "a picture": {"ask": ASK, "n": "17.jpg"},
    "an address": {"ask": ASK, "n": "https://example.org/17"},
    "a word": {"ask": ASK, "n": "often"},
    "a number in the prompt": {"ask": "Do you take 2 drugs?", "n": 1},
    "a list": {"ask": ASK, "n": ["a", "b"]},
    "other words": {"ask": "Are drugs what you take?", "n": 1},
    "another image": {"ask": ASK, "n": image(b"2")},
}


@pytest.mark.parametrize("name", NEAR)
def test_near_copies_show_the_same_words(name):
    first = image(b"1") if "image" in name else 1
    tasks = tasks_of({"ask": ASK, "n": first}, NEAR[name])
    assert largest_group(tasks, COIN) == largest_group(tasks, SHARED) == 2


@pytest.mark.parametrize("name", OTHER)
def test_other_words_make_another_question(name):
    first = image(b"1") if "image" in name else 1
    tasks = tasks_of({"ask": ASK, "n": first}, OTHER[name])
    assert largest_group(tasks, COIN) == largest_group(tasks, SHARED) == 1


DRUGS = "Did you take drugs in the last year?"
UNSEEN = "\u200b"
HIDDEN = {
    "in a key beside a number": lambda i: {DRUGS + i * UNSEEN: "", "No": i},
    "in a key beside one name or another": lambda i: {DRUGS: i, "abcdefgh"[i]: 1},
    "in a key beside an id": lambda i: {DRUGS: None, "No": f"row-{i}"},
    "in a key or in a value": lambda i: {DRUGS: i, "n": 1} if i % 2 else {"ask": DRUGS},
    "in a counted key": lambda i: {f"{i}. Drugs?": "", "n": ""},
    "in a key of a nested object": lambda i: {"q": {DRUGS + i * UNSEEN: i}},
    "in a key of an object in a list": lambda i: {"q": [1, {"a": {DRUGS: i}}]},
    "in keys beside the same words": lambda i: {DRUGS + i * "!": "Answer", "n": i},
    "in one word with a number": lambda i: {"ask": "Did-you-take-drugs-in-2024-" + i * "-"},
    "in one short word with a number": lambda i: {"ask": "drugs-17" + i * UNSEEN},
    "in one short word and marks": lambda i: {"ask": "drugs-17-" + i * "-"},
    "in marks": lambda i: {"ask": "??" + i * UNSEEN},
    "in a letter and an accent": lambda i: {"ask": "Cafe" + i * UNSEEN + "\u0301 or not?"},
    "in format characters": lambda i: {"ask": DRUGS[: i + 4] + "\u00ad" + DRUGS[i + 4 :], "n": i},
}


@pytest.mark.parametrize("name", HIDDEN)
def test_eight_tasks_that_look_like_one_are_one_group(name):
    tasks = tasks_of(*map(HIDDEN[name], range(8)))
    assert largest_group(tasks, SHARED) == 8
    assert largest_group(tasks, COIN) == len({canonical_hash(data) for _, data in tasks}) > 1


@pytest.mark.parametrize("unseen", [UNSEEN, "\u2060", "\ufe0f", "\u2800", "\U000e0041", " ", "?"])
@pytest.mark.parametrize("name", [DRUGS, "drugs-17"])
def test_names_of_tasks_without_data_are_letters(name, unseen):
    tasks = [(name + i * unseen, {}) for i in range(8)]
    assert largest_group(tasks, COIN) == largest_group(tasks, SHARED) == 8


ORDINARY = {
    "other texts": lambda i: {"text": f"It is {'a' * i} bird", "Is it a bird at all?": ""},
    "pictures by the names of their files": lambda i: {"Which bird is it?": f"bird_{i}.jpg"},
    "pictures": lambda i: {"Which bird is it?": image(b"%d" % i), "No": 1},
    "one column of numbers": lambda i: {"The length of the petals": i},
    "numbers": lambda i: {"age": i, "income": 1000 * i, "petal_length": 0.5},
    "texts of numbers": lambda i: {"n": str(i - 4), "m": "-4.5"},
    "ids": lambda i: {"row": f"row-{i}", "image_id": f"{i}a8f3-77"},
    "nested numbers": lambda i: {"box": {"x": i, "y": [i, 1]}},
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_campaigns_have_no_near_copies(name):
    tasks = tasks_of(*map(ORDINARY[name], range(8)))
    assert largest_group(tasks, COIN) == largest_group(tasks, SHARED) == 1


@pytest.mark.parametrize(
    "form", ["t{}", "{}", "row {}", "{}-1", "1_{}", "Question {}:", "3.{}.jpg"]
)
def test_names_of_tasks_differ_by_their_numbers(form):
    tasks = [(form.format(i), {}) for i in range(120)]
    assert largest_group(tasks, COIN) == largest_group(tasks, SHARED) == 1


@pytest.mark.parametrize(
    ("shown", "once", "each"),
    [
        ([], 1, 1),
        ([{}, {}], 1, 1),
        ([{"ask": "?"}] * 4, 1, 4),
        ([{"n": 1}, {"n": 2}, {"n": 2}], 1, 2),
        ([{"ask": ASK}] * 21, 1, 21),
        ([{"ask": ASK, "n": place} for place in range(21)], 21, 21),
        ([{"ask": ASK, "n": place % 3} for place in range(21)], 3, 21),
    ],
)
def test_copies_count_once_where_one_report_serves_them(shown, once, each):
    assert largest_group(tasks_of(*shown), COIN) == once
    assert largest_group(tasks_of(*shown), SHARED) == each


CYRILLIC = str.maketrans("aeo", "\u0430\u0435\u043e")
PARTS = ("Do y", "ou take ", "drugs or", " not?")
SAME_PIXELS = [
    "".join(parts)
    for parts in itertools.product(*((part, part.translate(CYRILLIC)) for part in PARTS))
]


def test_questions_of_the_same_pixels_are_one_group():
    tasks = tasks_of(*({"ask": text} for text in SAME_PIXELS))
    assert len(set(SAME_PIXELS)) == 16
    assert largest_group(tasks, COIN) == largest_group(tasks, SHARED) == 16
    assert look_alike_tasks(tasks) == (tuple(name for name, _ in tasks),)


ALIKE = {
    "a small l for a capital I": ("Is it a bird?", "ls it a bird?"),
    "the same, beside other marks and numbers": ("Is it a bird?", "3. ls it, a BIRD"),
    "a bar for a letter": ("Is it you?", "|s it you?"),
    "a letter for a digit": ("Do you take 10 mg?", "Do you take 1O mg?"),
    "a letter for a mark": ("Is it you?", "Is it you\u01c3\u01c3"),
    "rn for m": ("Are they modern?", "Are they modem?"),
    "Greek capitals": ("NO, NOT YOU?", "\u039d\u039f, \u039d\u039f\u03a4 \u03a5\u039fU"),
    "a long s for an f": ("Is it for you?", "Is it \u017for you?"),
    "Cyrillic letters, of another case": ("\u0422\u044b \u0432?", "\u0442\u042b \u0412"),
}
UNLIKE = [
    ("Did you fail?", "Did you fall?"),
    ("Do you take 10 mg?", "Do you take 20 mg?"),
    ("Is 1 > 0?", "Is 0 > 1?"),
    ("10", "1-0"),
    ("-1", "1"),
    ("\u05e9\u05dc\u05d9", "\u05e9\u05dc"),
    ("b\u00f8r", "bor"),
    ("\u0142ata", "lata"),
    ("\u0417\u0438\u043c\u0430", "\u0417\u0430\u043b"),
]


@pytest.mark.parametrize("name", ALIKE)
def test_look_alikes_are_near_copies(name):
    tasks = tasks_of(*({"ask": text} for text in ALIKE[name]))
    assert largest_group(tasks, COIN) == 2


@pytest.mark.parametrize("texts", UNLIKE)
def test_ordinary_texts_are_not_taken_for_look_alikes(texts):
    assert largest_group(tasks_of(*({"ask": text} for text in texts)), COIN) == 1


def test_columns_are_put_in_order_by_how_they_look():
    one, other = {"a": "or else", "b": "it is"}, {"a": "\u043er else", "b": "it is"}
    assert largest_group(tasks_of(one, other), COIN) == 2


def test_a_chain_of_near_copies_is_one_group():
    """The first and the last differ in case and look; each is a near-copy of the second."""
    tasks = tasks_of({"ask": "is it"}, {"ask": "Is it"}, {"ask": "ls it"})
    assert largest_group(tasks[::2], COIN) == 1
    assert largest_group(tasks, COIN) == 3
    assert look_alike_tasks(tasks) == (("t0", "t1", "t2"),)


def test_near_copies_of_the_same_letters_are_no_look_alikes():
    assert look_alike_tasks(tasks_of({"ask": "Is it?"}, {"ask": "is it"}, {"ask": "No"})) == ()


@st.deferred
def look_alikes():
    """Lists of letters with one skeleton; finding them takes seconds, so not at import."""
    by_skeleton = {}
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000:
            by_skeleton.setdefault(skeleton(chr(code)), []).append(chr(code))
    return st.sampled_from([letters for letters in by_skeleton.values() if len(letters) > 1])


PAIRS = look_alikes.flatmap(
    lambda letters: st.tuples(st.sampled_from(letters), st.sampled_from(letters))
)
SAME = st.characters(exclude_categories=["Cs"]).map(lambda letter: (letter, letter))


@pytest.mark.nightly
@pytest.mark.slow
@given(
    st.lists(PAIRS | SAME, max_size=8),
    st.sampled_from(
        [
            lambda text: (text, {}),
            lambda text: ("t", {"ask": text}),
            lambda text: ("t", {text: 1}),
            lambda text: ("t", {"b": [{text: text, "a": 3}, 2]}),
        ]
    ),
)
def test_texts_of_one_skeleton_share_a_key(pairs, shown):
    one, other = ("".join(text) for text in zip(*pairs, strict=True)) if pairs else ("", "")
    assert skeleton(one) == skeleton(other)
    assert not set(letters_hashes(*shown(one))).isdisjoint(letters_hashes(*shown(other)))


def test_tasks_with_one_prompt_are_pointed_out():
    tasks = tasks_of(
        {"ask": "Is there a bird?", "image": "1.jpg"},
        {"ask": "Is there a bird?", "image": "2.jpg"},
        {"ask": "is there a bird", "image": "2.jpg"},
        {"ask": ASK, "n": 1},
        {"ask": ASK, "n": 2},
        {"ask": "Is it you?"},
        {"ask": "Is it you?"},
        {"image": "3.jpg", "kind": "bird"},
        {"image": "4.jpg", "kind": "bird"},
        {},
        {"ask": "Is it?", "image": image(b"1", "A bird in a tall green tree")},
        {"ask": "Is it?", "image": image(b"2", "A bird in a tall green tree")},
    )
    assert alike(tasks) == (("t0", "t1", "t2"), ("t3", "t4"), ("t10", "t11"))


def test_which_reports_are_sent_again():
    assert [name for name, one in MECHANISMS.items() if sent_again(one)] == [
        *("one-layer", "one-layer with NULL", "sets of labels", "optimal"),
        *("laplace", "laplace, filled", "laplace with a bit", "piecewise", "duchi", "hybrid"),
    ]


CYRILLIC_LETTERS = "\u0430\u0441\u0435\u043e"
ASCII = "".join(map(chr, range(32, 127)))

try:
    ICU = icu_skeletons()
except OSError:
    ICU = None

with_icu = pytest.mark.skipif(ICU is None, reason="ICU 72 is not installed")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("aceo", CYRILLIC_LETTERS),
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


@pytest.mark.nightly
@with_icu
@pytest.mark.slow
def test_the_table_is_what_icu_says():
    assert TABLE.read_text("utf-8") == written()


@with_icu
@given(st.text(max_size=8))
def test_a_skeleton_is_that_of_icu(text):
    assigned = "".join(one for one in text if unicodedata.category(one) not in ("Cn", "Cs"))
    assert skeleton(assigned) == ICU(assigned).replace("rn", "m")
