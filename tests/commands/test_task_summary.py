from quietcrowd.campaign.terms.task_files import READERS
from quietcrowd.commands.task_summary import summarize_tasks


def test_names_of_some_tasks_and_words_that_move_a_cursor():
    lines = b'{"task": "a\\u001b[2J", "q": 1, "gold": 0}\n{"r\\n": 2}\n'
    assert summarize_tasks(list(READERS["application/x-ndjson"](lines))) == (
        "2 tasks, 1 of them named in the file, the others numbered: a\ufffd[2J; "
        "1 with known truth; workers see: q, r"
    )


def test_tasks_that_show_nothing():
    [row] = READERS["text/csv"](b"task\nt1\n")
    assert summarize_tasks([row]).endswith("workers see: nothing")
