"""Questions of an export, chosen by name."""

from pathlib import Path

import pytest

from quietcrowd.formats.columns import QuestionError
from quietcrowd.formats.questions import Question, choose_question

COUNTS = {
    Question("T0", "Round?", "7", "Shapes"): 4,
    Question("T0", "Round?", "8", "Shapes"): 1,
    Question("T1", "", "7", "Shapes"): 2,
}


@pytest.mark.parametrize("wanted", [None, "T0", "Shapes / T0", "Round?", "T2"])
def test_ids_replace_a_title_of_two_projects(wanted):
    with pytest.raises(QuestionError) as caught:
        choose_question(Path("a.csv"), COUNTS, wanted)
    message = str(caught.value)
    assert "'7 / T0' ('Round?', answers: 4), '8 / T0' ('Round?', answers: 1)" in message
    assert ("'Shapes / T1' (answers: 2)" in message) == (wanted in (None, "T2"))
    for name in caught.value.counts:
        assert len(choose_question(Path("a.csv"), COUNTS, name)) == 1
