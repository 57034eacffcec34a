"""Cases that take long: ``make nightly`` tries them, and not every change."""

import pytest


def nightly(*values):
    """Return a case of a parametrised test."""
    return pytest.param(*values, marks=pytest.mark.nightly)


def by_day(chosen, names):
    """Return the cases of a parametrised test: the chosen ones by day, all others by night."""
    assert set(chosen) <= set(names)
    return [name if name in chosen else nightly(name) for name in names]
