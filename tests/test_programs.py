import os
import signal
import sys
from subprocess import PIPE

import pytest
from tests.campaign.waiting import in_time
from tests.programs import running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no groups of processes")

FAMILY = """
import sys, threading
from subprocess import Popen
wait = "import threading; threading.Event().wait()"
child = Popen([sys.executable, "-c", wait])
helper = Popen([sys.executable, "-c", wait], process_group=0)
print("ids", child.pid, helper.pid, flush=True)
threading.Event().wait()
"""


def is_gone(process):
    """Return whether a process has ended; nobody may have taken note of it yet."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    if sys.platform != "linux":
        return False
    with open(f"/proc/{process}/stat") as state:
        return state.read().rpartition(")")[2].split()[0] == "Z"


def test_nothing_outlives_a_program():
    with running(sys.executable, "-c", FAMILY) as program:
        _, *ids = program.until("ids")[-1].split()
        assert not any(is_gone(int(one)) for one in ids)
    processes = map(int, ids if sys.platform == "linux" else ids[:1])
    assert all(in_time(lambda one=one: is_gone(one)) for one in processes)


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_what_ignores_a_signal_starts_programs_that_do_not(program, name):
    number = signal.Signals[name]
    code = f"import signal; print(signal.getsignal(signal.{name}) is signal.SIG_IGN)"
    before = signal.signal(number, signal.SIG_IGN)
    try:
        ended = program(sys.executable, "-c", code).finished(check=True)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)
    assert ended.output == "False\n"


def test_lines_are_waited_for_one_after_the_other(program):
    code = "import sys\nfor line in sys.stdin: print(line.upper() + line, end='', flush=True)"
    echo = program(sys.executable, "-c", code, stdin=PIPE)
    echo.tell("one")
    assert echo.until("one") == ["ONE", "one"]
    echo.tell("two")
    assert echo.until("TWO") == ["TWO"]
    echo.process.stdin.close()
    with pytest.raises(AssertionError, match="three"):
        echo.until("three")


def test_a_status_is_checked_where_it_is_wanted(program):
    words = (sys.executable, "-c", "raise SystemExit('so it is')")
    assert program(*words).finished() == (1, "", "so it is\n")
    with pytest.raises(AssertionError, match="so it is"):
        program(*words).finished(check=True)
