"""Every script of examples/ runs, says that its crowd is simulated, and fits a screen."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def test_a_page_links_to_every_script():
    page = (ROOT / "docs" / "run" / "data.md").read_text(encoding="utf-8")
    assert len(SCRIPTS) == 4
    assert all(f"(../../examples/{script.name})" in page for script in SCRIPTS)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_an_example_runs_and_fits_a_screen(script, capsys):
    runpy.run_path(str(script))["main"]()
    printed = capsys.readouterr().out
    assert "simulated" in printed
    assert "noise-aware" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 60
