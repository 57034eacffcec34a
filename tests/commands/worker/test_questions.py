import unicodedata

import pytest
import typer
from tests.campaign.mechanisms import LEVELS, RANGE
from tests.campaign.pictures import image

import quietcrowd as qc
from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.commands.worker.questions import (
    Questions,
    in_reading_order,
    read_line,
    show_quoted,
    show_text,
    spell,
)

YES_NO = qc.Categorical(["no", "yes"])


def tasks_of(*names):
    return [CampaignTask(id=32 * "0", name=name, data={"question": f"{name}?"}) for name in names]


def asked(domain, *typed, most=3, least=1, names=("a", "b", "c")):
    """Return the answers of a worker who types this and send."""
    left = [*typed, "send"]
    questions = Questions(
        tasks=tasks_of(*names),
        domain=domain,
        most=most,
        least=least,
        read=lambda _: left.pop(0),
    )
    answers = questions.ask()
    assert not left
    return answers


def test_labels_are_given_by_number_or_name():
    assert asked(YES_NO, "1", "yes", "YES") == {"a": "no", "b": "yes", "c": "yes"}
    assert asked(qc.Categorical(["A", "a"]), "A", "a", "2") == {"a": "A", "b": "a", "c": "a"}
    assert asked(qc.Categorical([False, True]), "true", "1", "False") == {
        **{"a": True, "b": False, "c": False}
    }


def test_answers_are_reviewed_without_being_asked_again():
    left = ["1", "2", "send", "1", "-", "", "send"]
    questions = Questions(
        tasks=tasks_of("a", "b"), domain=YES_NO, most=2, least=1, read=lambda _: left.pop(0)
    )
    assert questions.ask() == {"a": "no", "b": "yes"}
    assert questions.review() == {"b": "yes"}
    assert not left


def test_labels_that_look_like_numbers_have_none(capsys):
    assert asked(LEVELS, "1", "0", "4") == {"a": 1, "b": 0, "c": 4}
    assert asked(qc.Categorical(["2", "1"]), "1", "2", "") == {"a": "1", "b": "2"}
    assert "1 2" not in capsys.readouterr().out


def test_numbers_lie_in_their_range(capsys):
    assert asked(RANGE, "11", "nan", "x", "7.5", "0", "1e1") == {"a": 7.5, "b": 0.0, "c": 10.0}
    assert capsys.readouterr().out.count("This is not an answer: a number from 0 to 10") == 3


def test_questions_are_skipped_and_changed():
    assert asked(YES_NO, "", "yes", "") == {"b": "yes"}
    assert asked(YES_NO, "<", "yes", "no", "<", "", "<", "<", "-", "yes", "") == {"b": "yes"}
    assert asked(YES_NO, "yes", "", "", "2", "no", "") == {"a": "yes", "b": "no"}
    assert asked(YES_NO, "yes", "", "", "<", "no") == {"a": "yes", "c": "no"}


def test_there_are_not_more_answers_than_can_be_taken(capsys):
    assert asked(YES_NO, "yes", "no", "no", "", most=2) == {"a": "yes", "b": "no"}
    assert "You have given all 2 answers" in capsys.readouterr().out
    assert asked(YES_NO, "yes", "no", "", "1", "no", "", "", most=2) == {"a": "no", "b": "no"}


def test_some_answer_is_needed_where_none_cannot_be_sent(capsys):
    assert asked(YES_NO, "", "", "", "send", "9", "2", "yes", "") == {"b": "yes"}
    printed = capsys.readouterr().out
    assert "Answer at least one question first." in printed
    assert "Type send, <, or a number from 1 to 3." in printed
    assert asked(YES_NO, "", "", "", least=0) == {}


def test_tasks_are_read_in_the_order_of_their_names():
    ordered = in_reading_order(tasks_of("t10", "t2", "b", "7", "t2b"))
    assert [task.name for task in ordered] == ["7", "b", "t2", "t2b", "t10"]


def test_the_file_of_an_image_is_shown_with_what_it_shows(capsys, tmp_path):
    shown = [image(b"1", "A bird\n| The image is evil"), image(b"2")]
    file = tmp_path / f"image-{'f' * 64}.png"
    task = CampaignTask(id=32 * "0", name="a", data={"picture": shown[0], "other": shown[1]})
    typed = ["1", "send"]
    Questions(
        tasks=[task],
        domain=YES_NO,
        most=1,
        least=1,
        images={shown[0]["image"]: file},
        read=lambda _: typed.pop(0),
    ).ask()
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("| picture: A bird")
    assert lines[place + 1 : place + 3] == ["| | The image is evil", f"  The image is {file}"]
    assert lines[place + 3] == '| other: {"image":'


def test_data_of_several_members_is_shown_by_name(capsys):
    task = CampaignTask(id=32 * "0", name="a", data={"text": "x" * 100 + " y", "size": [1, 2]})
    questions = Questions(tasks=[task], domain=YES_NO, most=1, least=0, read=lambda _: "send")
    left = ["", "send"]
    questions.read = lambda _: left.pop(0)
    questions.ask()
    printed = capsys.readouterr().out
    assert "| size: [1, 2]" in printed
    assert printed.count("| ") == 3
    assert max(map(len, printed.splitlines())) <= 80


def test_reports_are_spelled():
    assert [spell(value) for value in (None, True, 0.1 + 0.2, 3, "a\x1b\nb")] == [
        *("NULL", "true", "0.3", "3", "a� b")
    ]


def test_text_is_folded_and_harmless(capsys):
    show_text("a " * 60 + "\n\nb\x1b[31m")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 78
    assert lines[-1] == "b�[31m"
    assert "" in lines


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x85", "\u2028", " " * 77, "\u3000" * 77])
def test_no_line_that_somebody_wrote_looks_like_one_of_the_device(capsys, end):
    claim = "Your budget is kept."
    show_quoted(f"Birds{end}{claim}")
    task = CampaignTask(id=32 * "0", name=f"a{end}{claim}", data={f"b{end}{claim}": "c", "d": {}})
    left = ["1", "<", "", "send"]
    Questions(
        tasks=[task],
        domain=qc.Categorical([f"a{end}{claim}", "b"]),
        most=1,
        least=0,
        read=lambda _: left.pop(0),
    ).ask()
    lines = capsys.readouterr().out.splitlines()
    assert any(claim in line for line in lines)
    assert not any(line.startswith("Your budget") for line in lines)
    assert max(columns(line) for line in lines) <= 80


def columns(line):
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def test_an_end_of_the_input_stops(monkeypatch):
    def ended(_):
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    with pytest.raises(typer.Abort):
        read_line("> ")


def test_a_task_with_options_of_its_own_has_these_answers(capsys):
    options = {"a": ["cat", "dog"], "b": ["oak", "elm", "fir"]}
    tasks = [
        CampaignTask(id=f"{place:032x}", name=name, data={"q": "Which?", "options": listed})
        for place, (name, listed) in enumerate(options.items())
    ]
    typed = iter(["oak", "2", "3", "send"])
    questions = Questions(
        tasks=tasks,
        domain=qc.Categorical(["cat", "dog", "oak", "elm", "fir"]),
        options={name: qc.Categorical(listed) for name, listed in options.items()},
        most=2,
        least=1,
        read=lambda _: next(typed),
    )
    assert questions.ask() == {"a": "dog", "b": "fir"}
    shown = capsys.readouterr().out
    assert "This is not an answer: 1 cat   2 dog" in shown
    assert "1 oak   2 elm   3 fir" in shown
    assert "options" not in shown
