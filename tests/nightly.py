"""Cases that take long: ``make nightly`` tries them, and not every change."""

import pytest


def nightly(*values):
    """Return a case of a parametrised test."""
    return pytest.param(*values, marks=pytest.mark.nightly)
