"""Helpers for those who test with quietcrowd, and the conformance battery of its own parts.

The battery is a set of plain functions that raise AssertionError. Every method and every mechanism
of the library passes it; whoever adds one calls `check_method` or `check_mechanism`.
"""

from quietcrowd.exceptions import MissingExtraError

try:
    from quietcrowd.testing.strategies import crowds, finite_domains
except ImportError:
    raise MissingExtraError.of("quietcrowd.testing needs Hypothesis", "testing") from None

from quietcrowd.testing.comparison import assert_estimates_equal
from quietcrowd.testing.mechanisms import check_mechanism
from quietcrowd.testing.methods import check_method

__all__ = [
    "assert_estimates_equal",
    "check_mechanism",
    "check_method",
    "crowds",
    "finite_domains",
]
