"""Names that completion shows are those of the figures."""

from quietcrowd_research import names
from quietcrowd_research.figures import FIGURES


def test_figures():
    assert tuple(FIGURES) == names.FIGURES
