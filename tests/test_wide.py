"""Wide tables, as frames; all rows are invented."""

import io

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    ChangedValuesWarning,
    DroppedRowsWarning,
    ParameterError,
    QuietcrowdWarning,
)
from quietcrowd.wide import long_rows

YES_OR_NO = qc.Categorical(["yes", "no"])
STUDY = pd.DataFrame(
    {
        "PROLIFIC_PID": ["a", "b", "c"],
        "s1": ["yes", None, "no"],
        "s2": ["no", "", "no"],
        "s3": ["", "yes", float("nan")],
    }
)
ROWS = [
    ["s1", "a", "yes"],
    ["s1", "c", "no"],
    ["s2", "a", "no"],
    ["s2", "c", "no"],
    ["s3", "b", "yes"],
]


def rows_of(frame, domain=YES_OR_NO, **options):
    answers = qc.Answers.from_wide(frame, domain, **options)
    return answers.to_frame().to_numpy().tolist()


@pytest.mark.parametrize(
    "frame",
    [STUDY, pl.from_pandas(STUDY), pl.from_pandas(STUDY).lazy(), pa.Table.from_pandas(STUDY)],
    ids=["pandas", "polars", "lazy", "arrow"],
)
def test_a_row_is_a_worker_and_empty_cells_leave_no_answer(frame):
    assert rows_of(frame) == ROWS
    found = long_rows(frame)
    assert (found.empty, found.rows.tolist()) == (4, [0, 2, 0, 2, 1])
    assert found.layout.others == ()


def test_a_column_is_a_worker():
    columns = STUDY.rename(columns={"PROLIFIC_PID": "item"})
    assert rows_of(columns, task="item") == [
        ["a", "s1", "yes"],
        ["a", "s2", "no"],
        ["b", "s3", "yes"],
        ["c", "s1", "no"],
        ["c", "s2", "no"],
    ]


def test_rows_are_numbered_if_a_survey_names_no_one():
    form = pd.DataFrame({"Timestamp": ["t", "t"], "A?": ["no", "yes"]})
    assert rows_of(form) == [["A?", "1", "no"], ["A?", "2", "yes"]]


@pytest.mark.parametrize(
    ("ends", "cells"),
    [
        (["cat", "dog"], [["TRUE", None], [None, "TRUE"], ["TRUE", None]]),
        (["cat", "dog"], [["cat", ""], ["", "dog"], ["cat", "dog"]]),
        (["cat", "dog"], [[1.0, None], [1.0, 1.0], [1.0, None]]),
        (["cat"], [["X"], [""], ["X"]]),
        (["cat", "dog"], [["X", "X"], ["X", ""], ["X", "X"]]),
    ],
)
def test_questions_that_may_be_options_are_reported(ends, cells):
    frame = pd.DataFrame(cells, columns=[f"opt_{end}" for end in ends])
    frame = frame.assign(worker=["a", "b", "c"], other=["no", "yes", None])
    labels = sorted({cell for row in cells for cell in row if cell}, key=str)
    names = ", ".join(f"'opt_{end}'" for end in ends)
    text = f"with empty cells and only one answer: {names}. .* convert --wide --multi-label"
    with pytest.warns(QuietcrowdWarning, match=text):
        rows_of(frame, qc.Categorical(labels), out_of_domain="skip")
    others = frame.assign(**{"opt_cat": "no", "opt_dog": ["yes", None, "yes"]})
    assert rows_of(others, YES_OR_NO, out_of_domain="skip", questions="opt_*")
    one_more = frame.assign(opt_newt=["no", "yes", None])
    assert rows_of(one_more, YES_OR_NO, out_of_domain="skip")


def test_addresses_are_no_answers():
    frame = pd.DataFrame(
        {"Timestamp": ["x", "y"], "Mail": ["a@b.org", "c@d.org"], "q": ["yes"] * 2}
    )
    with pytest.raises(AnswerError, match=r"'Mail' contains e-mail addresses.*--worker, --ignore"):
        rows_of(frame)
    assert rows_of(frame, worker="Mail") == [["q", "a@b.org", "yes"], ["q", "c@d.org", "yes"]]
    assert rows_of(frame, ignore="Mail") == [["q", "1", "yes"], ["q", "2", "yes"]]
    assert len(rows_of(frame, qc.Categorical(["a@b.org", "c@d.org"]), questions="Mail")) == 2


def test_a_pivot_table_may_have_numbers_as_names():
    frame = STUDY.set_axis(["w", 7, 8, 9], axis=1)
    assert rows_of(frame, worker="w", questions="7") == [["7", "a", "yes"], ["7", "c", "no"]]


def test_other_answers_name_their_cell_and_the_way_to_choose_questions():
    frame = STUDY.assign(s2=[None, "3", "4"])
    with pytest.raises(AnswerError) as caught:
        rows_of(frame)
    assert str(caught.value) == (
        "row 1, column 's2': '3' is outside the domain 'yes', 'no'. If the question has other "
        "answers, choose questions with questions= (on the command line: --questions)."
    )
    assert rows_of(frame, questions=["s1", "s3"]) == [row for row in ROWS if row[0] != "s2"]
    answers = qc.Answers.from_wide(frame, YES_OR_NO, out_of_domain="skip")
    assert (len(answers), answers.dropped.out_of_domain) == (3, 2)
    columns = frame.rename(columns={"PROLIFIC_PID": "item"})
    with pytest.raises(AnswerError, match="row 1, column 's2': '3' is outside"):
        rows_of(columns, task="item")


def test_marks_of_missing_answers_leave_no_row():
    frame = STUDY.assign(s2=["None", "N/A", " no"])
    with pytest.warns(ChangedValuesWarning) as told:
        found = rows_of(frame)
    assert found == [row for row in ROWS if row != ["s2", "a", "no"]]
    assert ["column 's2'" in str(one.message) for one in told] == [True, True]
    with pytest.warns(ChangedValuesWarning, match="' no' is read as 'no'"):
        found = rows_of(frame, domain=qc.Categorical(["yes", "no", "None", "N/A"]))
    assert len(found) == 6
    with pytest.raises(AnswerError, match="row 1, column 's2': 'N/A' is outside the"):
        rows_of(frame.assign(s2=[None, "N/A", "no"]), missing=())
    with pytest.raises(AnswerError, match=r"row 2, column 's2': .*choices"):
        rows_of(STUDY.assign(s2=[None, None, '{"choices":["a"]}']))


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.ChangedValuesWarning")
@pytest.mark.parametrize("missing", [None, "", " ", "NA"])
def test_only_rows_without_answers_may_lack_an_id(missing):
    frame = STUDY.assign(PROLIFIC_PID=["a", missing, "c"])
    with pytest.raises(AnswerError, match="row 1, column 'PROLIFIC_PID': the id is missing"):
        rows_of(frame)
    assert rows_of(frame, ignore="s3") == ROWS[:4]


def test_a_repeated_worker_is_an_error_unless_one_response_is_chosen():
    twice = STUDY.assign(PROLIFIC_PID="a")
    with pytest.raises(AnswerError, match="worker 'a' answered task 's1'"):
        rows_of(twice)
    assert rows_of(twice, duplicates="last") == [
        ["s1", "a", "no"],
        ["s2", "a", "no"],
        ["s3", "a", "yes"],
    ]


def test_wrong_parameters_are_errors():
    with pytest.raises(ParameterError, match="domain"):
        qc.Answers.from_wide(STUDY, ["yes", "no"])
    with pytest.raises(AnswerError, match="no answer"):
        qc.Answers.from_wide(STUDY[:0], YES_OR_NO)


QUALTRICS = """\
StartDate,EndDate,Status,Finished,ResponseId,Q1,Q2_1,Q2_2,group,pid
Start Date,End Date,Response Type,Finished,Response ID,Is it?,Pick - a,Pick - b,group,pid
"{""ImportId"":""startDate""}","{""ImportId"":""endDate""}","{""ImportId"":""status""}",\
"{""ImportId"":""finished""}","{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}",\
"{""ImportId"":""QID2"",""choiceId"":""1""}","{""ImportId"":""QID2"",""choiceId"":""2""}",\
"{""ImportId"":""group""}","{""ImportId"":""pid""}"
2026-01-02 09:00:00,2026-01-02 10:00:00,IP Address,True,R_1,yes,a,,x,p1
2026-01-02 09:00:00,2026-01-01 10:00:00,IP Address,True,R_2,no,a,b,x,p1
2026-01-02 09:00:00,2026-01-01 10:00:00,IP Address,False,R_3,no,,b,y,p3
2026-01-02 09:00:00,2026-01-01 10:00:00,Survey Preview,True,R_4,no,,,y,p4
2026-01-02 09:00:00,2026-01-01 10:00:00,IP Address,True,R_5,yes,,,y,p5
"""
CODED = QUALTRICS.replace("IP Address", "0").replace("Survey Preview", "1")
CODED = CODED.replace(",True,", ",1,").replace(",False,", ",0,").replace(",a,b,", ",1,1,")
CODED = CODED.replace(",a,,", ",1,,").replace(",,b,", ",,1,")


@pytest.mark.parametrize("text", [QUALTRICS, CODED], ids=["texts", "codes"])
def test_rows_of_qualtrics_that_are_no_answers_are_dropped(text):
    frame = pd.read_csv(io.StringIO(text))
    with pytest.warns(DroppedRowsWarning) as told:
        assert rows_of(frame) == [["Q1", "R_1", "yes"], ["Q1", "R_2", "no"], ["Q1", "R_5", "yes"]]
    assert sorted(str(one.message) for one in told) == [
        "dropped rows: responses that were not finished: 1; previews and tests: 1. To include "
        "them, pass rejected=True.",
        "questions that were not read: 'Q2'. Choose them with questions= (on the command line: "
        "--question, or --questions with --wide). If options have columns, use convert "
        "--multi-label.",
    ]
    assert len(rows_of(frame, questions="Q1", rejected=True)) == 5


def without_line(place):
    lines = QUALTRICS.splitlines(keepends=True)
    return "".join(lines[:place] + lines[place + 1 :])


@pytest.mark.parametrize("missing", [0, 2])
def test_one_of_the_three_rows_of_a_header_may_be_missing(missing):
    frame = pd.read_csv(io.StringIO(without_line(missing)))
    names = list(pd.read_csv(io.StringIO(QUALTRICS)).columns)
    question = "Q1" if missing else frame.columns[names.index("Q1")]
    with pytest.warns(DroppedRowsWarning, match="not finished: 1; previews and tests: 1"):
        found = rows_of(frame, questions=question)
    people = [row[1] for row in found]
    assert people == ["R_1", "R_2", "R_5"]
    if not missing:
        sets = long_rows(frame, sets=True, rejected=True)
        assert sets.table["label"].to_pylist() == [["a"], ["a", "b"], ["b"]]


def test_the_last_response_is_the_latest():
    with pytest.warns(DroppedRowsWarning, match="not finished"):
        found = rows_of(
            pd.read_csv(io.StringIO(QUALTRICS)), worker="pid", questions="Q1", duplicates="last"
        )
    assert found == [["Q1", "p1", "yes"], ["Q1", "p5", "yes"]]
    other = QUALTRICS.replace("2026-01-01", "1 January 2026")
    with (
        pytest.warns(DroppedRowsWarning, match="not finished"),
        pytest.warns(QuietcrowdWarning, match="their times, such as '2026-01-02 .*cannot be"),
    ):
        found = rows_of(
            pd.read_csv(io.StringIO(other)), worker="pid", questions="Q1", duplicates="last"
        )
    assert found == [["Q1", "p1", "no"], ["Q1", "p5", "yes"]]


@pytest.mark.parametrize(
    ("text", "labels"),
    [(QUALTRICS, [["a"], ["a", "b"], ["b"]]), (CODED, [["1"], ["1", "2"], ["2"]])],
    ids=["texts", "codes"],
)
def test_options_with_columns_are_sets(text, labels):
    found = long_rows(pd.read_csv(io.StringIO(text)), sets=True, rejected=True)
    assert found.table["label"].to_pylist() == [*labels]
    assert found.table["worker"].to_pylist() == ["R_1", "R_2", "R_3"]
    with pytest.raises(AnswerError, match="'Q2' have a column per option, and 'Q1' do not"):
        long_rows(pd.read_csv(io.StringIO(text)), questions="Q*")


def test_unticked_options_of_kobo_are_not_in_the_set():
    frame = pd.DataFrame(
        {
            "_submission_time": ["2026-01-01"] * 4,
            "_id": [1, 2, 3, 4],
            "_validation_status": ["Approved", "", "", "Not approved"],
            "pets": ["cat dog", None, "", "cat"],
            "pets/cat": [1.0, None, 0, 1],
            "pets/dog": [1.0, None, 0, 0],
        }
    )
    found = long_rows(frame)
    assert found.table.to_pylist() == [
        {"task": "pets", "worker": 1, "label": ["cat", "dog"]},
        {"task": "pets", "worker": 3, "label": []},
    ]
    assert found.dropped == {"responses that were not approved": 1}
    with pytest.raises(AnswerError, match=r"'pets' has a column per option.* options cat,dog"):
        qc.Answers.from_wide(frame, YES_OR_NO)


CELLS = st.lists(st.lists(st.sampled_from(["yes", "no", None, ""]), min_size=3, max_size=3))


@given(CELLS)
def test_both_orientations_and_long_rows_agree(cells):
    frame = pd.DataFrame(cells, columns=["x", "y", "z"], dtype=object)
    frame.insert(0, "id", [f"i{place}" for place in range(len(cells))])
    expected = {
        (name, row["id"], row[name])
        for row in frame.to_dict("records")
        for name in "xyz"
        if row[name]
    }
    by_worker = long_rows(frame, worker="id").table.to_pylist()
    assert {(row["task"], row["worker"], row["label"]) for row in by_worker} == expected
    by_task = long_rows(frame, task="id").table.to_pylist()
    assert {(row["worker"], row["task"], row["label"]) for row in by_task} == expected
    assert len(by_worker) == len(by_task) == len(expected)


def test_timestamps_of_google_forms_order_responses():
    times = ["2024-01-02 10:00:00", "2024-01-01 10:00:00"]
    frame = pd.DataFrame({"Timestamp": times, "Username": ["a", "a"], "q": ["yes", "no"]})
    assert rows_of(frame, duplicates="last") == [["q", "a", "yes"]]
    frame["Timestamp"] = ["2/1/2024 10:00:00", "1/1/2024 10:00:00"]
    with pytest.warns(QuietcrowdWarning, match="such as '2/1/2024 10:00:00', cannot be compared"):
        assert rows_of(frame, duplicates="last") == [["q", "a", "no"]]
