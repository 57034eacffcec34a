"""What the words of options mean."""

import pytest

from quietcrowd.commands.options import PossibleAnswers


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("no,yes", ("no", "yes")),
        ('"yes, please", no', ("yes, please", "no")),
        ("1,2.5", (1, 2.5)),
        ("01,02", ("01", "02")),
        ("1,one", ("1", "one")),
        ("no , yes ", ("no", "yes")),
        ("1e3,2", ("1e3", "2")),
    ],
)
def test_labels_are_what_they_print_as(labels, expected):
    assert PossibleAnswers(labels=labels).domain().labels == expected


def test_levels_are_numbers_however_they_are_written():
    assert PossibleAnswers(levels="1.50,2,1e3").domain().levels == (1.5, 2, 1000)
