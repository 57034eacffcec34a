"""Everything that quietcrowd raises or warns of.

::

    Exception
    └── QuietcrowdError
        ├── ParameterError         (ValueError)   a parameter breaks its rule
        ├── AnswerError            (ValueError)   an answer, a task or a worker breaks its rule
        ├── FormatError            (ValueError)   a file is not what it should be
        │   ├── MissingMechanismError             reports without the mechanism that made them
        │   └── RemovedMechanismError             a mechanism that this version no longer has
        ├── CampaignError          (RuntimeError) a campaign's server refuses, or tells untruths
        │   └── UnansweredError                   it cannot be reached, or has too much to do
        └── MissingExtraError      (ImportError)  an optional dependency is not installed
    Warning
    └── QuietcrowdWarning          (UserWarning)
        ├── NoiseIgnoredWarning                   randomised reports are read as plain answers
        ├── NoSignalWarning                       the noise hides how the truths differ
        ├── SimulatedNoiseWarning                 reports of a simulation are read as workers' own
        ├── NotConvergedWarning                   a fit stopped before it converged
        ├── LeftOutWarning                        rows, or known truths, are left out
        └── SimilarLabelsWarning                  labels differ by capitals or spaces alone

Messages name the place, the value that was met, and the way out. They are written for the
person who holds the data: nothing that a worker's device sends is ever derived from them.
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
    """Base of all errors that quietcrowd raises on purpose."""


class ParameterError(QuietcrowdError, ValueError):
    """An invalid parameter; the message names parameter, rule and value."""


class AnswerError(QuietcrowdError, ValueError):
    """An invalid answer, task or worker; the message names row, column and value."""


class FormatError(QuietcrowdError, ValueError):
    """A file does not have the expected format."""


class MissingMechanismError(FormatError):
    """A file of reports does not contain their mechanism."""


class RemovedMechanismError(FormatError):
    """A description names a mechanism that an earlier version had; the message says why it went."""


class CampaignError(QuietcrowdError, RuntimeError):
    """The server of a campaign refuses a request, or states something false."""


class UnansweredError(CampaignError):
    """The server of a campaign cannot be reached, or has too much to do: try again later."""


class MissingExtraError(QuietcrowdError, ImportError):
    """An optional dependency is needed and not installed."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtraError:
        """Return the error for an extra of this package: no index is asked for it by its name.

        Parameters
        ----------
        what : str
            What needs it.
        extra : str
            Its name.
        """
        return cls(
            f"{what}: install quietcrowd with [{extra}] from where you have it, as pip install "
            f"'.[{extra}]' in its source, or pip install 'FILE.whl[{extra}]'"
        )


class QuietcrowdWarning(UserWarning):
    """Base of all warnings that quietcrowd gives."""


class NoiseIgnoredWarning(QuietcrowdWarning):
    """Randomised reports are read as plain answers, or by a method without a model of the noise."""


class NoSignalWarning(QuietcrowdWarning):
    """The noise is too large to distinguish the truths."""


class SimulatedNoiseWarning(QuietcrowdWarning):
    """Reports whose noise is simulated protect nobody, and are read as if workers had sent them.

    Whoever simulates on purpose says
    ``warnings.simplefilter("ignore", quietcrowd.SimulatedNoiseWarning)``.
    """


class LeftOutWarning(QuietcrowdWarning):
    """Rows that are not valid answers, or truths of unknown tasks, are left out."""


class SimilarLabelsWarning(QuietcrowdWarning):
    """Labels that occur differ by capitals or spaces alone, and are counted as different."""


class NotConvergedWarning(QuietcrowdWarning):
    """A fit stopped at its limit of iterations, before its objective converged."""
