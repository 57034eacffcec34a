import io
from types import SimpleNamespace

import pytest
from tests.campaign.waiting import LONG, in_time

import quietcrowd as qc
from quietcrowd.inference import waiting
from quietcrowd.inference.waiting import Waiting

CROWD = qc.synthetic_crowd(tasks=20, workers=8, answers_per_task=4, seed=1)


class Terminal(io.StringIO):
    def __init__(self, *, seen=True):
        super().__init__()
        self.seen = seen

    def isatty(self):
        return self.seen


@pytest.fixture
def terminal(monkeypatch):
    """Return a terminal on which nothing is waited for long."""
    shown = Terminal()
    monkeypatch.setattr(waiting, "sys", SimpleNamespace(stderr=shown, modules={}))
    monkeypatch.setattr(waiting, "PATIENCE", 0.001)
    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: 7.0))
    monkeypatch.setattr(waiting, "PACE", 0.001)
    return shown


def until(terminal, text):
    """Wait for a line."""
    assert in_time(lambda: text in terminal.getvalue()), terminal.getvalue()


def test_a_long_fit_says_how_far_it_is_and_leaves_no_trace(terminal):
    with Waiting("GLAD") as line:
        until(terminal, "GLAD: first iteration (the first time, its kernels are compiled), 0 s")
        line.keep(None)
        until(terminal, "GLAD: 1 iteration, ")
        line.keep(None)
        until(terminal, "GLAD: 2 iterations, ")
    last = terminal.getvalue().rsplit("\r", 2)[1:]
    assert last[0].strip() == last[1] == ""
    assert len(last[0]) >= len("GLAD: first iteration")
    assert not line._thread.is_alive()


def test_a_fit_counts_its_iterations(monkeypatch):
    counted = []
    keep = Waiting.keep
    monkeypatch.setattr(Waiting, "keep", lambda *given: counted.append(keep(*given)))
    estimate = qc.WeightedVote().fit(CROWD.answers)
    assert len(counted) == estimate.iterations > 0


def test_nothing_is_said_of_a_short_fit_or_where_nobody_looks(terminal, monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", LONG)
    qc.WeightedVote().fit(CROWD.answers)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(waiting, "PATIENCE", 0.001)
    terminal.seen = False
    with Waiting("GLAD") as line:
        assert line._thread is None


def test_an_error_ends_the_line(terminal):
    line = Waiting("GLAD")

    def fail():
        with line:
            until(terminal, "GLAD")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not line._thread.is_alive()
