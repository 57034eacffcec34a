import pytest

import quietcrowd as qc
from quietcrowd.campaign.client_questions import AskedQuestions, question_hash
from quietcrowd.campaign.client_terms import CampaignTask
from quietcrowd.exceptions import FormatError

YES_NO = qc.Categorical(["no", "yes"])
HERE, ELSEWHERE = "https://crowd.example", "https://other.example"


def task_of(name, **data):
    return CampaignTask(id=32 * "0", name=name, data=data)


def asked_of(tmp_path, campaign, origin=HERE):
    folder = tmp_path / campaign
    folder.mkdir(exist_ok=True)
    return AskedQuestions(folder=folder, origin=origin)


def test_a_question_is_what_is_asked_and_what_can_be_answered():
    one = question_hash(task_of("a", text="Red?", size=1), YES_NO)
    assert question_hash(task_of("b", size=1.0, text="Red?"), YES_NO) == one
    others = {
        question_hash(task_of("a", text="Blue?", size=1), YES_NO),
        question_hash(task_of("a", text="Red?", size=1), qc.Categorical(["yes", "no"])),
        question_hash(task_of("a"), YES_NO),
        question_hash(task_of("b"), YES_NO),
        question_hash(task_of("c", task="a"), YES_NO),
    }
    assert len(others | {one}) == 6


def test_other_campaigns_of_the_same_server_count(tmp_path):
    spring, autumn = (asked_of(tmp_path, name) for name in ("spring", "autumn"))
    assert spring.elsewhere() == frozenset()
    spring.keep(["b", "a", "b"])
    spring.keep(["c"])
    asked_of(tmp_path, "winter", ELSEWHERE).keep(["d"])
    assert autumn.elsewhere() == {"a", "b"}
    assert spring.elsewhere() == frozenset()
    assert asked_of(tmp_path, "summer", ELSEWHERE).elsewhere() == {"d"}
    [file] = spring.folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff", b'{"origin": "x", "questions": [1]}', b"[" * 100_000]
)
def test_a_damaged_file_is_told(tmp_path, content):
    spring, autumn = (asked_of(tmp_path, name) for name in ("spring", "autumn"))
    spring.keep([])
    [file] = spring.folder.iterdir()
    file.write_bytes(content)
    with pytest.raises(FormatError, match=r"spring/questions.json is damaged. Restore it"):
        autumn.elsewhere()
