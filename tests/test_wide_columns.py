"""Roles of the columns of wide tables; all names are invented."""

import pytest

from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.wide_columns import find_layout

QUALTRICS = [
    *("StartDate", "EndDate", "Status", "IPAddress", "Progress", "Duration (in seconds)"),
    *("Finished", "RecordedDate", "ResponseId", "RecipientLastName", "ExternalReference"),
    *("LocationLatitude", "DistributionChannel", "UserLanguage", "Q_RecaptchaScore"),
]
KOBO = ["start", "end", "today", "deviceid", "color", "pets", "pets/cat", "pets/dog", "g/size"]
KOBO_LAST = [
    *("__version__", "_id", "_uuid", "_submission_time", "_validation_status", "_notes"),
    *("_status", "_submitted_by", "_tags", "_index", "meta/rootUuid"),
]
ODK = ["SubmissionDate", "start", "meta-instanceID", "color", "g-pets", "g-pets/cat", "g-pets/dog"]
ODK_LAST = [
    *("KEY", "SubmitterID", "SubmitterName", "AttachmentsPresent", "AttachmentsExpected"),
    *("Status", "ReviewState", "DeviceID", "Edits", "FormVersion"),
]


@pytest.mark.parametrize(
    ("names", "worker", "questions"),
    [
        (["Timestamp", "Email Address", "Is it?"], "Email Address", ["Is it?"]),
        (["Timestamp", "Is it?", "Username"], "Username", ["Is it?"]),
        (["Marca temporal", "Nombre de usuario", "Q"], "Nombre de usuario", ["Q"]),
        (["Horodateur", "Nom d'utilisateur", "Q"], "Nom d'utilisateur", ["Q"]),
        (["Zeitstempel", "Nutzername", "Q"], "Nutzername", ["Q"]),
        (["Timestamp", "Email Address", "Score", "A?"], "Email Address", ["A?"]),
        (["Horodateur", "Est-ce ?"], None, ["Est-ce ?"]),
        (
            ["Timestamp", "Username", "Total score", "A?", "A? [Score]", "A? [Feedback]"],
            "Username",
            ["A?"],
        ),
        (["Timestamp", "Rate [Score]", "Rate [Size]"], None, ["Rate [Score]", "Rate [Size]"]),
        (["n", "prolific_id", "STUDY_ID", "session_id", "s1"], "prolific_id", ["n", "s1"]),
        (["", "Unnamed: 1", "PROLIFIC_PID", "s1"], "PROLIFIC_PID", ["s1"]),
        ([*QUALTRICS, "Q1", "Q2_1", "Q2_4_TEXT", "Q_URL"], "ResponseId", ["Q1", "Q2_1"]),
        ([*QUALTRICS, "Q1", "Q1_DO_2", "Q4_First Click", "Q_1"], "ResponseId", ["Q1", "Q_1"]),
        ([*QUALTRICS, "PROLIFIC_PID", "Q1"], "PROLIFIC_PID", ["Q1"]),
        (["startDate", "finished", "_recordId", "Q1"], "_recordId", ["Q1"]),
        ([*KOBO, *KOBO_LAST], "_id", ["color", "pets", "g/size"]),
        (["color", "_uuid", "_submission_time"], "_uuid", ["color"]),
        ([*ODK, *ODK_LAST], "KEY", ["color", "g-pets"]),
    ],
)
def test_known_surveys_need_no_names(names, worker, questions):
    layout = find_layout(names)
    assert (layout.id, layout.by_worker, list(layout.questions)) == (worker, True, questions)


def test_options_have_columns_in_kobo_and_odk():
    pets = {"cat": "pets/cat", "dog": "pets/dog"}
    assert find_layout([*KOBO, *KOBO_LAST]).questions == {
        "color": None,
        "pets": pets,
        "g/size": None,
    }
    layout = find_layout([*KOBO, *KOBO_LAST], questions=["pets"])
    assert layout.questions == {"pets": pets}
    assert "color" in layout.others
    assert not {"pets/cat", "_id"} & set(layout.others)
    assert find_layout([*KOBO, *KOBO_LAST], questions="pets/cat").questions == {"pets/cat": None}


def test_import_ids_say_what_is_a_question():
    ids = {
        "who": {"ImportId": "PROLIFIC_PID"},
        "group": {"ImportId": "group"},
        "EndDate": {"ImportId": "endDate"},
        "ResponseId": {"ImportId": "_recordId"},
        "birds": {"ImportId": "QID1"},
        "a_1": {"ImportId": "QID2", "choiceId": "1"},
        "a_x4": {"ImportId": "QID2", "choiceId": "x4"},
        "m_1": {"ImportId": "QID3#1_1"},
        "1_loop": {"ImportId": "1_QID7"},
        "age": {"ImportId": "QID4_TEXT"},
        "birds_9_TEXT": {"ImportId": "QID1_9_TEXT"},
        "t_Page Submit": {"ImportId": "QID5_PAGE_SUBMIT"},
        "order": {"ImportId": "FL_1_DO", "choiceId": "FL_2"},
    }
    layout = find_layout(list(ids), import_ids=ids)
    assert layout.id == "ResponseId"
    assert layout.questions == {
        "birds": None,
        "a": {"1": "a_1", "x4": "a_x4"},
        "m_1": None,
        "1_loop": None,
        "age": None,
    }
    assert list(find_layout(list(ids), import_ids=ids, questions=["group"]).questions) == ["group"]


@pytest.mark.parametrize(
    ("choice", "id_name", "questions"),
    [
        ({"worker": "n"}, "n", ["Timestamp", "q1", "q2", "note?"]),
        ({"worker": "n", "questions": "q*"}, "n", ["q1", "q2"]),
        ({"worker": "n", "questions": ["note?", "q?"]}, "n", ["note?", "q1", "q2"]),
        ({"worker": "n", "ignore": ["note?", "T*"]}, "n", ["q1", "q2"]),
        ({"worker": "n", "questions": ["*"], "ignore": "q2"}, "n", ["Timestamp", "q1", "note?"]),
        ({"task": "n", "ignore": "note?"}, "n", ["Timestamp", "q1", "q2"]),
        ({"questions": "q*", "ignore": ["n", "T*", "note?"]}, None, ["q1", "q2"]),
    ],
)
def test_names_and_patterns_choose_columns(choice, id_name, questions):
    layout = find_layout(["n", "Timestamp", "q1", "q2", "note?"], **choice)
    assert (layout.id, list(layout.questions)) == (id_name, questions)
    assert layout.by_worker == ("task" not in choice)


@pytest.mark.parametrize(
    ("names", "id_name", "by_worker"),
    [
        (["task", "ann", "bob"], "task", False),
        (["n", "taskId"], "taskId", False),
        (["q1", "worker"], "worker", True),
        (["workerId", "q1", "label"], "workerId", True),
    ],
)
def test_ids_may_have_the_names_that_they_have_in_answers(names, id_name, by_worker):
    layout = find_layout(names)
    assert (layout.id, layout.by_worker) == (id_name, by_worker)
    assert [*layout.questions] == [name for name in names if name != id_name]


def test_another_column_of_workers_replaces_that_of_the_survey():
    layout = find_layout(["Timestamp", "Email Address", "Name", "Is it?"], worker="Name")
    assert (layout.id, list(layout.questions)) == ("Name", ["Is it?"])
    assert layout.others == ("Timestamp", "Email Address")


@pytest.mark.parametrize(
    ("names", "choice", "error", "message"),
    [
        (["item", "a"], {}, AnswerError, "columns 'item', 'a' are not those of .*--worker, --task"),
        (["Is it?", "Timestamp"], {}, AnswerError, "are not those of a known survey"),
        (["a", "q1"], {"questions": "q1"}, AnswerError, "the columns 'a' are not questions"),
        (["a"], {"worker": "b"}, ParameterError, "no column is 'b'; the columns are 'a'"),
        (["qa"], {"worker": "q"}, ParameterError, "did you mean 'qa'"),
        (["a", "q"], {"worker": "a", "questions": "r*"}, ParameterError, r"no column is 'r\*'"),
        (["a", "q"], {"worker": "a", "ignore": "r"}, ParameterError, "no column is 'r'"),
        (["a", "q"], {"worker": "a", "ignore": "q"}, AnswerError, "no column of answers remains"),
        (["a"], {"worker": "a", "task": "a"}, ParameterError, "exclude each other"),
        (["a"], {"task": "a", "questions": "b"}, ParameterError, "requires a row per worker"),
        (["task", "worker", "label"], {}, AnswerError, "a row is an answer already"),
        (["PROLIFIC_PID", "prolific_id", "q"], {}, AnswerError, "may contain the workers"),
        ([], {}, AnswerError, "are not those of a known survey"),
        (["task", "worker", "q1"], {}, AnswerError, "are not those of a known survey"),
        (["task", "a"], {"questions": "a"}, ParameterError, "requires a row per worker"),
    ],
)
def test_what_is_uncertain_is_an_error(names, choice, error, message):
    with pytest.raises(error, match=message):
        find_layout(names, **choice)
