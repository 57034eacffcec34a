"""Label Studio's config of a project, read and written."""

import json
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats.platforms.label_studio_config import (
    common_texts,
    read_label_config,
    write_label_config,
)
from quietcrowd.report_domains import OrNull, Reals

SHOWN = '<Header value="Which?"/><Text name="task" value="$text"/>'


def read(path, question):
    path.write_text(f"<View>{SHOWN}{question}</View>", encoding="utf-8")
    return read_label_config(path)


@pytest.mark.parametrize(
    ("question", "domain"),
    [
        (
            '<Choices name="a" toName="task"><Choice value="cat"/><Choice value="Dog" alias="dog"/>'
            "</Choices>",
            qc.Categorical(["cat", "dog"]),
        ),
        (
            '<View><Choices choice="single-radio"><Choice value="1"/><Choice value="2"/></Choices>'
            "</View>",
            qc.Categorical(["1", "2"]),
        ),
        ('<Rating name="a" toName="task"/>', qc.Ordinal([1, 2, 3, 4, 5])),
        ('<Rating maxRating="3"/>', qc.Ordinal([1, 2, 3])),
        ('<Number min="0" max="10"/>', qc.Interval(low=0, high=10)),
        ('<Number min="-1" max="1" step="1"/>', qc.Ordinal([-1, 0, 1])),
        ('<Number min="0.1" max="0.4" step="0.1"/>', qc.Ordinal([0.1, 0.2, 0.3, 0.4])),
        ('<Pairwise name="a" toName="x,y"/>', qc.Categorical(["left", "right"])),
    ],
)
def test_a_question_is_a_domain(tmp_path, question, domain):
    assert read(tmp_path / "c.xml", question) == domain


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("", "<View> must contain one question; got none"),
        ('<Rating name="a"/><Rating name="b"/>', "<View> must contain one question; got a, b"),
        ('<TextArea name="a"/>', "<TextArea> is not supported; use Choices, Rating, Number"),
        ('<RectangleLabels name="a"><Label value="x"/></RectangleLabels>', "<RectangleLabels>"),
        (
            '<Choices choice="multiple"><Choice value="a"/></Choices>',
            "workers must choose exactly one",
        ),
        ('<Choices value="$options"/>', "the same in all tasks"),
        (
            '<Choices><Choice value="a"><Choice value="b"/></Choice></Choices>',
            "must not contain another <Choice>",
        ),
        ('<Choices><Choice value="a"/><Choice/></Choices>', "a <Choice> has no value"),
        ("<Choices/>", "<Choices>: "),
        ('<Choices><Choice value="a"/><Choice value="a"/></Choices>', "<Choices>: "),
        ('<Rating maxRating="many"/>', "maxRating must be a number; got 'many'"),
        ('<Rating maxRating="1e999999999"/>', "maxRating must be a number"),
        ('<Rating maxRating="0"/>', "maxRating must be 1 to 65,535; got 0.0"),
        ('<Number max="10"/>', "min must be a number; got None"),
        ('<Number min="3" max="1"/>', "low must be below high"),
        ('<Number min="0" max="10" step="3"/>', "step must divide the range from min to max"),
        ('<Number min="0" max="10" step="0"/>', "step must divide the range from min to max"),
        (
            '<Number min="0" max="1e300" step="1e-300"/>',
            "step must divide the range from min to max",
        ),
    ],
)
def test_what_is_no_single_answer_is_refused(tmp_path, question, told):
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "c.xml", question)
    assert told in str(caught.value)
    assert "c.xml" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "the label config is invalid: no element found"),
        ("<View>", "the label config is invalid"),
        ("<Rating/>", "<View> must contain one question"),
        ('<?xml version="1.0" encoding="nonsense"?><View/>', "the label config is invalid"),
        ('<!DOCTYPE x [<!ENTITY a "aa">]><View>&a;</View>', "remove the <!DOCTYPE>"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_other_files_are_refused(tmp_path, content, told, encoding):
    (tmp_path / "c.xml").write_text(content, encoding=encoding)
    with pytest.raises(FormatError, match=told):
        read_label_config(tmp_path / "c.xml")


TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1
)
NUMBERS = st.integers(-50, 50) | st.floats(-1e6, 1e6, allow_nan=False).map(float)
DOMAINS = (
    st.lists(TEXTS | st.sampled_from(["\t", "a\nb", '"<&>']), min_size=2, max_size=5, unique=True)
    .map(qc.Categorical)
) | st.tuples(NUMBERS, NUMBERS).filter(lambda pair: pair[0] < pair[1]).map(
    lambda pair: qc.Interval(low=pair[0], high=pair[1])
)  # fmt: skip


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(domain=DOMAINS)
def test_what_is_written_is_read(tmp_path, domain):
    path = tmp_path / "c.xml"
    write_label_config(path, domain)
    assert read_label_config(path) == domain


@pytest.mark.parametrize("levels", [[1, 2, 3], [0, 5], [0.1, 0.2, 0.3]])
def test_even_levels_are_read_as_they_were(tmp_path, levels):
    write_label_config(tmp_path / "c.xml", qc.Ordinal(levels))
    assert read_label_config(tmp_path / "c.xml") == qc.Ordinal(levels)


@pytest.mark.parametrize(
    ("domain", "labels", "question"),
    [
        (qc.Ordinal([1, 2, 4]), (), {"min": "1", "max": "4"}),
        (Reals(), (), {}),
        (None, (3, 4), {}),
        (OrNull(domain=qc.Ordinal([1, 2])), (), {"min": "1", "max": "2", "step": "1"}),
    ],
)
def test_numbers_have_the_bounds_that_are_known(tmp_path, domain, labels, question):
    write_label_config(tmp_path / "c.xml", domain, labels)
    tag = ElementTree.parse(tmp_path / "c.xml").getroot()[-1]
    assert tag.tag == "Number"
    assert tag.attrib == {"name": "label", "toName": "task", **question}


def test_choices_and_what_is_shown(tmp_path):
    write_label_config(tmp_path / "c.xml", None, ["no", "yes"], shown=["question"])
    assert (tmp_path / "c.xml").read_text() == (
        "<View>\n"
        '  <Text name="task" value="$task" />\n'
        '  <Text name="shown1" value="$question" />\n'
        '  <Choices name="label" toName="task" choice="single">\n'
        '    <Choice value="no" />\n'
        '    <Choice value="yes" />\n'
        "  </Choices>\n"
        "</View>\n"
    )


def test_texts_that_all_tasks_have_are_shown():
    first = {"text": "a", "n": 3, "task": "t1", "a b": "c", "more": "d"}
    assert common_texts([first, {"text": "b", "n": 4, "a b": "c", "task": "t2"}]) == ["text"]
    assert common_texts([]) == []


def test_what_xml_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"XML cannot contain 'a\\x00b'; rename it"):
        write_label_config(tmp_path / "c.xml", qc.Categorical(["a\0b", "c"]))
    assert list(tmp_path.iterdir()) == []


def test_the_config_is_of_the_tasks_that_are_written(tmp_path, run, monkeypatch):
    """Every name that the tasks refer to is in the config, and every label is a choice."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("task,worker,label\nt,u,yes\nt,v,no\n")
    words = ("--label-config", "c.xml")
    assert run("convert", "a.csv", "a.json", *words)[0] == 0
    tags = {tag.get("name"): tag for tag in ElementTree.parse("c.xml").iter() if tag.get("name")}
    labels = {choice.get("value") for choice in tags["label"]}
    for task in json.loads((tmp_path / "a.json").read_text()):
        assert tags["task"].get("value") == "$task"
        assert "task" in task["data"]
        for annotation in task["annotations"]:
            (one,) = annotation["result"]
            assert (one["from_name"], one["to_name"]) == ("label", tags["label"].get("toName"))
            assert tags["label"].tag.lower() == one["type"]
            assert set(one["value"]["choices"]) <= labels


def test_the_config_of_reports_is_of_all_that_they_can_be(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    domain = qc.Categorical(["no", "yes", "unsure"])
    frame = pd.DataFrame({"task": ["a"], "worker": ["u"], "label": ["no"]})
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    answers = qc.Answers.from_frame(frame, domain)
    qc.write_reports(mechanism.simulate(answers, random_state=1), "r.jsonl")
    assert run("convert", "r.jsonl", "r.json", "--label-config", "c.xml")[0] == 0
    assert read_label_config(tmp_path / "c.xml") == domain
    (tmp_path / "c.xml").write_text("one's own")
    status, _, errors = run("convert", "r.jsonl", "again.json", "--label-config", "c.xml")
    assert (status, errors.strip()) == (
        2,
        "quietcrowd: error: c.xml already exists; name a new file",
    )
    assert (tmp_path / "c.xml").read_text() == "one's own"
    assert not (tmp_path / "again.json").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a.csv", "b.csv", "--label-config", "c.xml"), "with a name that ends in .json"),
        (("a.csv", "--label-config", "c.xml"), "with a name that ends in .json"),
        (("a.csv", "b.json", "--label-config", "b.json"), "named for two outputs"),
        (("a.csv", "b.json", "--label-config", "a.csv"), "is the input"),
        (("a.csv", "b.json", "--label-config", "no/c.xml"), "no such directory"),
        (
            ("a.csv", "b.json", "--to", "label-studio-min", "--label-config", "c.xml"),
            "requires an output of Label Studio tasks",
        ),
    ],
)
def test_a_config_goes_with_tasks(tmp_path, run, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("task,worker,label\nt,u,yes\n")
    status, _, errors = run("convert", *words)
    assert (status, told in errors) == (2, True), errors
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
