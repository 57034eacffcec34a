"""Errors and warnings of the library, in the words of pages for requesters."""

import re

from quietcrowd.exceptions import QuietcrowdError, QuietcrowdWarning

_FOR_TERMINALS = re.compile(r" \((?:on the command line: |-m )[^()]*\)")


def to_requester(problem: QuietcrowdError | QuietcrowdWarning) -> str:
    """Return the text of an error or warning, with advice that a requester can follow.

    ``texts/results.toml`` replaces sentences with advice for callers of the library.
    """
    _, _, kind = problem.code.partition(".")
    code = f"results.{kind}"
    warning = QuietcrowdWarning(code, **problem.fields)
    return _FOR_TERMINALS.sub("", str(warning if warning.code else problem))
