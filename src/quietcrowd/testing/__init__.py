"""Test helpers for mechanisms and methods: conformance checks and Hypothesis strategies.

All mechanisms and methods of the library pass `check_mechanism` and `check_method`, which raise
`AssertionError`. Call them in the tests of new ones.
"""

from quietcrowd.exceptions import MissingExtraError

try:
    from quietcrowd.testing.strategies import crowds, finite_domains
except ImportError:
    raise MissingExtraError(
        "extras.missing", subject="quietcrowd.testing needs Hypothesis", extra="testing"
    ) from None

from quietcrowd.testing.mechanisms import check_mechanism
from quietcrowd.testing.method_checks import assert_estimates_equal
from quietcrowd.testing.methods import check_method

__all__ = [
    "assert_estimates_equal",
    "check_mechanism",
    "check_method",
    "crowds",
    "finite_domains",
]
