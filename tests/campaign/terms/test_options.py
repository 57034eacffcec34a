import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.device.questions import TaskQuestions
from quietcrowd.campaign.terms.near_copies import largest_group
from quietcrowd.campaign.terms.options import (
    among_options,
    counts_in,
    domain_of_options,
    have_options,
    in_any_order,
    with_options,
)
from quietcrowd.campaign.terms.tasks import READERS
from quietcrowd.exceptions import FormatError, ParameterError, QuietcrowdError

CSV, JSON = READERS["text/csv"], READERS["application/json"]
PETS = qc.Categorical(["cat", "dog", "cow"])
MECHANISM = qc.RandomizedResponse(domain=PETS, epsilon=1.0).among(PETS, [2, 3])


def listed(rows, domain=None):
    """Return the options of each task of a file, as they are stored."""
    rows = list(rows)
    read = with_options(rows, domain or domain_of_options(rows))
    return [json.loads(row.data)["options"] for row in read]


@pytest.mark.parametrize(
    "cell",
    [
        '"[""cat"", ""dog""]"',
        "cat|dog",
        "cat; dog",
        '"cat,dog"',
        '" cat , dog "',
        '"[""cat"",""dog ""]"',
    ],
)
def test_a_table_has_a_list_or_separated_texts(cell):
    assert listed(CSV(f"id,q,options\na,Which?,{cell}\n".encode())) == [["cat", "dog"]]


def test_commas_and_semicolons_belong_to_an_option_beside_a_bar():
    cell = "Yes, of course; always|No"
    assert listed(CSV(f'id,q,options\na,Which?,"{cell}"\n'.encode())) == [
        ["Yes, of course; always", "No"]
    ]


def test_json_has_lists_and_keeps_their_types():
    rows = [{"task": "a", "options": [1, 2.5]}, {"task": "b", "data": {"options": "1|7"}}]
    read = list(JSON(json.dumps(rows).encode()))
    assert listed(read[:1]) == [[1, 2.5]]
    assert listed(read, qc.Ordinal([1, 2.5, 7])) == [[1, 2.5], [1, 7]]
    truths = [{"task": "a", "options": [True, False]}]
    assert listed(JSON(json.dumps(truths).encode())) == [[True, False]]


def test_labels_are_in_the_order_of_the_file():
    rows = list(CSV(b"id,options\na,dog|cat\nb,cat|cow|dog\n"))
    assert have_options(rows)
    assert domain_of_options(rows).labels == ("dog", "cat", "cow")
    assert counts_in(with_options(rows, PETS)) == [2, 3]
    assert not have_options(CSV(b"id,options\na,\n"))


def test_known_truths_are_options_of_their_task():
    rows = list(CSV(b"id,options,gold\na,dog|cat,cow\n"))
    with pytest.raises(FormatError, match="row 2: gold must be one"):
        with_options(rows, PETS)


CELLS = st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from([*PETS.labels, "", " cat", 1, True, None, ["cat"], {}]), max_size=5),
    st.sampled_from([None, 1, {}, {"a": 1}, [], "[", "[1", '["cat","dog"', "[NaN,1]", 66 * "a|"]),
    st.lists(st.sampled_from(PETS.labels), max_size=3).map("|".join),
)


@given(st.lists(CELLS, min_size=1, max_size=4))
def test_any_file_gives_options_that_a_device_takes_or_one_sentence(cells):
    """The sentence names a row, and quotes no option."""
    records = [{"task": f"t{place}", "options": cell} for place, cell in enumerate(cells)]
    rows = list(JSON(json.dumps(records).encode()))
    read, sentence = [], ""
    try:
        read = with_options(rows, PETS)
    except FormatError as error:
        sentence = str(error)
    assert read or sentence.startswith("row ")
    assert not any(label in sentence for label in PETS.labels)
    tasks = [(row.name, json.loads(row.data)) for row in read]
    if read:
        bound = among_options(MECHANISM, tasks)
        assert bound.options.sizes.tolist() == [len(data["options"]) for _, data in tasks]


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), st.lists))
def test_whatever_a_server_lists_is_options_or_an_error(options):
    try:
        bound = among_options(MECHANISM, [("a", {"options": options})])
    except ParameterError:
        return
    assert set(options) <= set(PETS.labels)
    assert bound.options.sizes.tolist() == [len(options)]


def test_other_mechanisms_do_not_read_options():
    mechanism = qc.RandomizedResponse(domain=PETS, epsilon=1.0)
    assert among_options(mechanism, [("a", {"options": "x"})]) is mechanism
    data = {"options": ["dog", "cat"]}
    assert in_any_order(mechanism, data) is data
    assert in_any_order(MECHANISM, data) == {"options": ["cat", "dog"]}
    for other in (
        qc.SubsetSelection(domain=PETS, epsilon=1.0),
        qc.RandomizedResponse(domain=PETS, flip_probability=0.3),
    ):
        with pytest.raises(QuietcrowdError, match="options"):
            other.among(PETS, [2])


def test_the_order_of_options_makes_another_report_and_no_other_question():
    shown = [
        {"q": "Which?", "options": list(options)}
        for options in (("cat", "dog"), ("dog", "cat"), ("cat", "dog"), ("cat", "cow"))
    ]
    assert largest_group([(str(n), data) for n, data in enumerate(shown)], MECHANISM) == 2
    tasks = [CampaignTask(id=f"{n:032x}", name=str(n), data=one) for n, one in enumerate(shown)]
    questions = TaskQuestions(tasks=tasks, mechanism=MECHANISM)
    assert questions.copies == (("0", "2"),)
    first, second, third, other = (questions.letters[task.name] for task in tasks)
    assert first == second == third
    assert set(first).isdisjoint(other)


def test_a_question_is_the_same_in_a_campaign_with_other_tasks_and_another_only_by_its_table():
    task = CampaignTask(id=32 * "0", name="a", data={"q": "Which?", "options": ["cat", "dog"]})
    more = qc.Categorical(["ash", "dog", "cat"])
    mechanisms = [
        MECHANISM,
        qc.RandomizedResponse(domain=more, epsilon=1.0).among(more, [2]),
        qc.RandomizedResponse(domain=PETS, epsilon=2.0).among(PETS, [2, 3]),
    ]
    hashes = [TaskQuestions(tasks=[task], mechanism=one).hashes["a"] for one in mechanisms]
    assert hashes[0] == hashes[1] != hashes[2]
    assert all(one.channel_identity == two.channel_identity for one, two in pairwise(mechanisms))
