"""Responses of LimeSurvey; all rows are invented."""

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError

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
    assert read(path) == [["a", "tok1", "yes"], ["a", "tok2", "yes"], ["b", "tok1", "no"]]


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
