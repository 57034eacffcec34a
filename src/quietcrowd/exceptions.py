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
        ├── ConvergenceWarning                    a fit stopped before it converged
        ├── DroppedRowsWarning                    rows, or known truths, are dropped
        ├── ChangedValuesWarning                  ids or labels are read in another form
        ├── SimilarLabelsWarning                  labels differ only by capitals or spaces
        └── SuddenChangeWarning                   many truths seem to have changed at once

Errors and warnings have a `code`, such as ``"parameters.not-whole"``, and `fields`, the values that
the message names. The sentence of a code is in ``texts/``, in the file of its first part.
Messages name the place, the value and the remedy. They are for the owner of the data;
nothing that a worker's device sends is ever derived from them.
"""

from functools import cache
from numbers import Number
from pathlib import Path

__all__ = [
    "AnswerError",
    "CampaignError",
    "ChangedValuesWarning",
    "ConvergenceWarning",
    "DroppedRowsWarning",
    "FormatError",
    "MissingExtraError",
    "MissingMechanismError",
    "NoSignalWarning",
    "NoiseIgnoredWarning",
    "ParameterError",
    "QuietcrowdError",
    "QuietcrowdWarning",
    "RemovedMechanismError",
    "SimilarLabelsWarning",
    "SimulatedNoiseWarning",
    "SuddenChangeWarning",
    "UnansweredError",
]


@cache
def _sentences() -> dict[str, str]:
    import tomllib  # only if there is an error

    return {
        f"{path.stem}.{kind}": sentence
        for path in (Path(__file__).parent / "texts").glob("*.toml")
        for kind, sentence in tomllib.loads(path.read_text(encoding="utf-8")).items()
    }


class _Coded(Exception):  # noqa: N818 - of warnings, too
    """A message by its code and fields.

    Parameters
    ----------
    code : str
        A code of ``texts/``. Another text, such as that of an extension, is the message itself.
    **fields
        Values of the places in the sentence.

    Attributes
    ----------
    code : str
        The code; empty if the message was given as a text.
    fields : dict
        Each field by name: a text, a number, a boolean, None, an error or a warning of
        quietcrowd; other values as text.
    """

    def __init__(self, code: str, /, **fields: object) -> None:
        sentence = _sentences().get(code)
        super().__init__(code if sentence is None else sentence.format(**fields).rstrip())
        self.code = "" if sentence is None else code
        self.fields = {name: _plain(value) for name, value in fields.items()}

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).__new__, (type(self), *self.args), self.__dict__


def _plain(value: object) -> object:
    kept = value is None or isinstance(value, str | Number | _Coded)
    return value if kept else str(value)


class QuietcrowdError(_Coded):
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


class QuietcrowdWarning(_Coded, UserWarning):
    """Base of all warnings of quietcrowd."""


class NoiseIgnoredWarning(QuietcrowdWarning):
    """Reports are read as non-private answers, or by a method without a model of the noise."""


class NoSignalWarning(QuietcrowdWarning):
    """The noise is too large to distinguish the truths."""


class SimulatedNoiseWarning(QuietcrowdWarning):
    """Reports with simulated noise, which protect no one, are read as if workers had sent them.

    To simulate on purpose, call
    ``warnings.simplefilter("ignore", quietcrowd.exceptions.SimulatedNoiseWarning)``.
    """


class DroppedRowsWarning(QuietcrowdWarning):
    """Rows that are not valid answers, or truths of unknown tasks, are dropped."""


class ChangedValuesWarning(QuietcrowdWarning):
    """Ids or labels are read in another form, such as without spaces, or as missing values."""


class SimilarLabelsWarning(QuietcrowdWarning):
    """Labels differ only by capitals or spaces, and count as different labels."""


class ConvergenceWarning(QuietcrowdWarning):
    """A fit reached its limit of iterations before its objective converged."""


class SuddenChangeWarning(QuietcrowdWarning):
    """Many of the truths that are followed over time seem to have changed in one round."""
