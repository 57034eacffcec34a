"""Responses of LimeSurvey; all rows are invented."""

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError, QuietcrowdWarning
from quietcrowd.formats import read_table
from quietcrowd.formats.columns import Choice

DOMAIN = qc.Categorical(["yes", "no"])
HEAD = '"id";"submitdate";"lastpage";"startlanguage";"seed";"token";'
DONE = '"2026-01-02 10:00:00";"2";"en";"9";'


def survey(path, questions, *rows, head=HEAD):
    lines = [head + ";".join(f'"{one}"' for one in questions), *rows]
    path.write_text("\ufeff" + "\r\n".join([*lines, ""]), encoding="utf-8", newline="")
    return path


def read(path, **options):
    return sorted(qc.read_answers(path, DOMAIN, **options).to_frame().to_numpy().tolist())


def test_questions_of_an_array_are_tasks_and_who_answered_is_the_token(tmp_path):
    path = survey(
        tmp_path / "s.csv",
        ["Q1[a]", "Q1[b]", "Q1[other]"],
        f'"1";{DONE}"tok1";"yes";"no";""',
        f'"2";{DONE}"tok2";"yes";"";"else"',
    )
    with pytest.warns(DroppedRowsWarning, match=r"dropped rows: texts in 'Q1\[other\]': 1"):
        assert read(path) == [["a", "tok1", "yes"], ["a", "tok2", "yes"], ["b", "tok1", "no"]]
    with pytest.warns(DroppedRowsWarning):
        assert qc.read_answers(path, DOMAIN).dropped.out_of_domain == 1


def test_without_tokens_the_number_of_a_response_says_who_answered(tmp_path):
    head = HEAD.replace('"token";', "")
    path = survey(tmp_path / "s.csv", ["Q1", "Q2"], f'"1";{DONE}"yes";"no"', head=head)
    assert read(path) == [["Q1", "1", "yes"], ["Q2", "1", "no"]]


def test_the_whole_names_of_columns_are_known_too(tmp_path):
    head = '"Response ID";"Date submitted";"Last page";"Start language";'
    path = survey(tmp_path / "s.csv", ["Q1"], '"1";"2026-01-02";"1";"en";"yes"', head=head)
    assert read(path) == [["Q1", "1", "yes"]]


def test_one_of_several_arrays_is_named_and_times_are_no_questions(tmp_path):
    questions = ["Q1[a]", "Q2[a]", "Q3", "interviewtime", "Q3Time"]
    path = survey(tmp_path / "s.csv", questions, f'"1";{DONE}"t";"yes";"no";"no";"9";"9"')
    with pytest.raises(FormatError, match="several questions, 'Q1', 'Q2', 'questions'"):
        read(path)
    assert read(path, field="Q2") == [["a", "t", "no"]]
    assert read(path, field="questions") == [["Q3", "t", "no"]]


def test_what_was_not_submitted_is_told_and_left_out(tmp_path):
    rows = (f'"1";{DONE}"t";"yes"', '"2";"";"1";"en";"9";"u";"no"')
    path = survey(tmp_path / "s.csv", ["Q1"], *rows)
    with pytest.warns(DroppedRowsWarning, match="responses not submitted: 1"):
        assert read(path) == [["Q1", "t", "yes"]]


PETS = ["Pets[cat]", "Pets[dog]"]


def sets(path, **options):
    table = read_table(path, ("task", "worker", "label"), sets=True, **options)
    return table.to_pylist()


def test_ticked_options_are_a_set_and_unticked_ones_are_empty(tmp_path):
    rows = (f'"1";{DONE}"t";"Y";""', f'"2";{DONE}"u";"Y";"Y"', f'"3";{DONE}"v";"";"Y"')
    path = survey(tmp_path / "s.csv", PETS, *rows)
    assert sets(path) == [
        {"task": "Pets", "worker": "t", "label": ["cat"]},
        {"task": "Pets", "worker": "u", "label": ["cat", "dog"]},
        {"task": "Pets", "worker": "v", "label": ["dog"]},
    ]
    with pytest.raises(FormatError, match=r"column 'label' has list<.*--multi-label"):
        read(path)


def test_a_response_without_ticks_has_an_empty_set_and_is_reported(tmp_path):
    path = survey(tmp_path / "s.csv", PETS, f'"1";{DONE}"t";"Y";""', f'"2";{DONE}"u";"";""')
    with pytest.warns(QuietcrowdWarning, match="only empty cells for 'Pets': 1"):
        assert [row["label"] for row in sets(path)] == [["cat"], []]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["Yes;No", "No;No", "N/A;N/A"], [["cat"], [], None]),
        (["Y;N", "N;N", ";"], [["cat"], [], None]),
        (["N;N", "N;N"], [[], []]),
    ],
)
def test_unticked_options_may_be_no_and_questions_not_asked_have_no_set(tmp_path, cells, labels):
    rows = [f'"{place}";{DONE}"{place}";{cell}' for place, cell in enumerate(cells)]
    path = survey(tmp_path / "s.csv", PETS, *rows)
    assert [row["label"] for row in sets(path)] == labels


@pytest.mark.parametrize("tick", ["1", "Ja", "X", "Oui"])
def test_any_text_may_be_a_tick(tmp_path, tick):
    rows = (f'"1";{DONE}"t";"{tick}";""', f'"2";{DONE}"u";"{tick}";"{tick}"')
    path = survey(tmp_path / "s.csv", PETS, *rows)
    assert [row["label"] for row in sets(path, choice=Choice(sets=True))] == [
        *(["cat"], ["cat", "dog"])
    ]
    with pytest.raises(FormatError, match=r"column 'label' has list<.*--multi-label"):
        read(path)
    path = survey(tmp_path / "t.csv", PETS[:1], f'"1";{DONE}"t";"{tick}"', f'"2";{DONE}"u";""')
    with pytest.warns(QuietcrowdWarning, match="only empty cells for 'Pets': 1"):
        assert [row["label"] for row in sets(path, choice=Choice(sets=True))] == [["cat"], []]


@pytest.mark.parametrize("cells", [["Y;N", "Y;"], ["Yes;Uncertain"], ["1;2"], ["Yes;N"]])
def test_an_array_stays_an_array(tmp_path, cells):
    rows = [f'"{place}";{DONE}"{place}";{cell}' for place, cell in enumerate(cells)]
    path = survey(tmp_path / "s.csv", PETS, *rows)
    found = [(row["task"], row["label"]) for row in sets(path)]
    expected = [
        (name, answer)
        for place, name in enumerate(["cat", "dog"])
        for answer in (cell.split(";")[place] for cell in cells)
    ]
    assert found == [row for row in expected if row[1]]


@pytest.mark.parametrize(
    ("head", "questions"),
    [
        (HEAD, ["Pets[cat]", "Pets[catcomment]", "Pets[other]", "Pets[othercomment]"]),
        (
            '"Response ID";"Date submitted";"Last page";"Start language";"Seed";"Access code";',
            ["Pets [cat]", "Pets [cat][Comment]", "Pets [Other]", "Pets [Other][Comment]"],
        ),
        (
            '"id. Response ID";"submitdate. Date submitted";"lastpage. Last page";'
            '"startlanguage. Start language";"seed. Seed";"token. Access code";',
            [
                *("Pets[cat]. Which pets? [Cat]", "Pets[catcomment]. Which pets? [Cat][Comment]"),
                *("Pets[other]. Which pets? [Other]", "Pets[othercomment]. Which pets? [Other]"),
            ],
        ),
    ],
    ids=["codes", "texts", "both"],
)
def test_texts_next_to_options_are_reported_and_dropped(tmp_path, head, questions):
    rows = (f'"1";{DONE}"t";"Y";"soft";"newt";"wet"', f'"2";{DONE}"u";"Y";"";"";""')
    path = survey(tmp_path / "s.csv", questions, *rows, head=head)
    with pytest.warns(DroppedRowsWarning) as told:
        assert [(row["task"], row["label"]) for row in sets(path)] == [("Pets", ["cat"])] * 2
    assert [str(one.message) for one in told] == [
        f"{path}: dropped rows: " + "; ".join(f"texts in {name!r}: 1" for name in questions[1:])
    ]


def test_questions_with_texts_as_headings_have_a_text_for_other_answers(tmp_path):
    questions = ["Which pet?", "Which pet? [Other]", "Rate [Other]", "Rate [Cat]", "Another"]
    path = survey(tmp_path / "s.csv", questions, f'"1";{DONE}"t";"cat";"newt";"3";"4";"yes"')
    with pytest.warns(DroppedRowsWarning, match=r"texts in 'Which pet\? \[Other\]': 1"):
        found = sets(path, choice=Choice(field="questions"))
    assert [(row["task"], row["label"]) for row in found] == [
        ("Which pet?", "cat"),
        ("Another", "yes"),
    ]
    rates = sets(path, choice=Choice(field="Rate"))
    assert [(row["task"], row["label"]) for row in rates] == [("Other", "3"), ("Cat", "4")]


def test_the_last_of_several_responses_is_the_latest(tmp_path):
    rows = (f'"1";{DONE}"t";"no"', '"2";"2026-01-01 09:00:00";"2";"en";"9";"t";"yes"')
    path = survey(tmp_path / "s.csv", ["Q1"], *rows)
    assert read(path, duplicates="last") == [["Q1", "t", "no"]]
    assert read(path, duplicates="first") == [["Q1", "t", "yes"]]
