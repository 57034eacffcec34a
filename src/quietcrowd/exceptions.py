"""All exceptions and warnings of quietcrowd.

::

    Exception
    └── QuietcrowdError
        ├── ParameterError         (ValueError)   a parameter is invalid
        ├── AnswerError            (ValueError)   an answer, task or worker is invalid
        ├── FormatError            (ValueError)   a file does not have the expected format
        │   ├── MissingMechanismError             a file of reports lacks their mechanism
        │   └── RemovedMechanismError             this version no longer has the mechanism
        ├── CampaignError          (RuntimeError) a campaign's server rejects or states falsehoods
        │   └── UnansweredError                   the server is unreachable or overloaded
        └── MissingExtraError      (ImportError)  an optional dependency is not installed
    Warning
    └── QuietcrowdWarning          (UserWarning)
        ├── NoiseIgnoredWarning                   the noise in reports is ignored
        ├── NoSignalWarning                       the noise hides how the truths differ
        ├── SimulatedNoiseWarning                 simulated reports are read as real ones
        ├── NotConvergedWarning                   a fit stopped before it converged
        ├── LeftOutWarning                        rows, or known truths, are dropped
        └── SimilarLabelsWarning                  labels differ only by capitals or spaces

Messages name the place, the value and the remedy. They are for the owner of the data;
nothing that a worker's device sends is ever derived from them.
"""

from __future__ import annotations

__all__ = [
    "AnswerError",
    "CampaignError",
    "FormatError",
    "LeftOutWarning",
    "MissingExtraError",
    "MissingMechanismError",
    "NoSignalWarning",
    "NoiseIgnoredWarning",
    "NotConvergedWarning",
    "ParameterError",
    "QuietcrowdError",
    "QuietcrowdWarning",
    "RemovedMechanismError",
    "SimilarLabelsWarning",
    "SimulatedNoiseWarning",
    "UnansweredError",
]


class QuietcrowdError(Exception):
    """Base of all errors that quietcrowd raises deliberately."""


class ParameterError(QuietcrowdError, ValueError):
    """An invalid parameter; the message names parameter, rule and value."""


class AnswerError(QuietcrowdError, ValueError):
    """An invalid answer, task or worker; the message names row, column and value."""


class FormatError(QuietcrowdError, ValueError):
    """A file does not have the expected format."""


class MissingMechanismError(FormatError):
    """A file of reports does not contain their mechanism."""


class RemovedMechanismError(FormatError):
    """A description names a mechanism of an earlier version; the message gives the reason."""


class CampaignError(QuietcrowdError, RuntimeError):
    """The server of a campaign rejects a request, or states something false."""


class UnansweredError(CampaignError):
    """The server of a campaign is unreachable or overloaded; the request may be repeated later."""


class MissingExtraError(QuietcrowdError, ImportError):
    """An optional dependency is needed and not installed."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtraError:
        """Return the error for an extra of quietcrowd, which `what` needs.

        The message recommends an installation from a local source or wheel, not from an index.
        """
        return cls(
            f"{what}: install quietcrowd with [{extra}] from where you have it, as pip install "
            f"'.[{extra}]' in its source, or pip install 'FILE.whl[{extra}]'"
        )


class QuietcrowdWarning(UserWarning):
    """Base of all warnings of quietcrowd."""


class NoiseIgnoredWarning(QuietcrowdWarning):
    """Reports are read as non-private answers, or by a method without a model of the noise."""


class NoSignalWarning(QuietcrowdWarning):
    """The noise is too large to distinguish the truths."""


class SimulatedNoiseWarning(QuietcrowdWarning):
    """Reports with simulated noise, which protect no one, are read as if workers had sent them.

    To simulate on purpose, call
    ``warnings.simplefilter("ignore", quietcrowd.SimulatedNoiseWarning)``.
    """


class LeftOutWarning(QuietcrowdWarning):
    """Rows that are not valid answers, or truths of unknown tasks, are dropped."""


class SimilarLabelsWarning(QuietcrowdWarning):
    """Labels differ only by capitals or spaces, and count as different labels."""


class NotConvergedWarning(QuietcrowdWarning):
    """A fit reached its limit of iterations before its objective converged."""
