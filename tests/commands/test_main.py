"""The program, and how it ends."""

import sys

import pytest

from quietcrowd.evaluation import Experiment


def test_no_words_show_the_help(run):
    status, output, _ = run()
    assert status == 0
    assert "Usage:" in output


def test_ctrl_c_is_one_line(run, folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Experiment, "run", stop)
    assert run("lab", "evaluate", folder) == (130, "", "quietcrowd: stopped\n")


STOPPED_EARLY = """
import signal, sys
KILL = "signal.raise_signal(signal.SIGINT)"  # in a text, as attrs and namedtuple make classes
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == NAME:
            exec(KILL)
sys.meta_path.insert(0, Stop())
from quietcrowd.commands.main import main
main()
"""


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no process sends itself Ctrl-C there")
@pytest.mark.parametrize("name", ["typer", "quietcrowd.commands.app", "quietcrowd._core"])
def test_ctrl_c_is_one_line_while_python_imports(program, name, tmp_path):
    (tmp_path / "stopped_early.py").write_text(STOPPED_EARLY.replace("NAME", repr(name)))
    words = [sys.executable, "-m", "stopped_early", "lab", "evaluate", "crowd"]
    assert program(*words, cwd=tmp_path).finished() == (130, "", "quietcrowd: stopped\n")
