import pytest

from quietcrowd.commands.demo.crowd import draw_crowd, own_answers, true_labels


def test_every_worker_gets_the_own_answers():
    crowd = draw_crowd(3)
    own = own_answers(crowd)
    frame = crowd.answers.to_frame()
    assert len(own) == len(crowd.answers.workers)
    assert sum(map(len, own)) == len(frame)
    for worker in (0, 41, 79):
        rows = frame[frame["worker"] == worker]
        assert own[worker] == dict(zip(rows["task"], rows["label"], strict=True))


def test_the_crowd_knows_something_and_a_constant_guess_little():
    crowd = draw_crowd(7)
    real = true_labels(crowd)
    assert list(real) == crowd.answers.tasks.to_pylist()
    answers = [(real[task], label) for own in own_answers(crowd) for task, label in own.items()]
    right = sum(truth == label for truth, label in answers) / len(answers)
    assert right == pytest.approx(0.75, abs=0.05)
    assert 0.3 < sum(label == "yes" for label in real.values()) / len(real) < 0.7


def test_a_seed_is_a_crowd():
    assert own_answers(draw_crowd(1)) == own_answers(draw_crowd(1)) != own_answers(draw_crowd(2))
