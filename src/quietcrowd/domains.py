"""Domains: the public sets of possible answers.

A domain must be fixed before workers answer. A domain derived from private answers would reveal
information about them.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, fields, frozen
from typing_extensions import override

from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.frames import dictionary_codes
from quietcrowd.validation import check_text

Label: TypeAlias = str | bool | int | float
Values: TypeAlias = npt.NDArray[Any]

MAX_LABELS = 2**16 - 1
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)


_KINDS: dict[str, type[Domain]] = {}


class Domain(ABC):
    """A public set of possible answers."""

    kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Dtype of stored values; independent of the answers, so as not to reveal them."""

    @abstractmethod
    def encode(self, column: pa.ChunkedArray) -> tuple[Values, npt.NDArray[np.bool_]]:
        """Convert answers to codes or numbers, and a mask of those that are in the domain."""

    @abstractmethod
    def decode(self, values: Values) -> pa.Array:
        """Convert stored values, shape (n,), to a column of answers."""

    @abstractmethod
    def holds(self, values: Values) -> bool:
        """Return whether all stored values, shape (n,), are valid."""

    @abstractmethod
    def describe(self) -> str:
        """Describe the possible answers in a few words, for messages."""

    @abstractmethod
    def example(self) -> str:
        """Return an expression that builds the domain, for messages."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description; `from_dict` is its inverse."""
        values = {one.name: getattr(self, one.name) for one in fields(type(self))}  # type: ignore[arg-type]
        listed = {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
        return {"kind": self.kind, **listed}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Domain:
        return cls(**{one.name: parameters[one.name] for one in fields(cls)})  # type: ignore[arg-type]

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Domain:
        """Return the domain that `to_dict` described.

        Raises
        ------
        FormatError
            If the kind is unknown, or a key is missing or invalid.
        """
        if not isinstance(data, Mapping):
            raise FormatError("domains.domain-not-an-object", data=data)
        try:
            if data["kind"] not in _KINDS:
                raise FormatError(
                    "domains.domain-kind-unknown", data=data["kind"], kinds=", ".join(_KINDS)
                )
            return _KINDS[data["kind"]]._from_parameters(data)
        except KeyError as error:
            raise FormatError("domains.domain-key-missing", error=error, data=dict(data)) from None
        except (TypeError, ParameterError) as error:
            raise FormatError("domains.domain-unreadable", error=error) from None


class NumericDomain(Domain):
    """A domain of numbers, which are stored unchanged unless a subclass encodes them."""

    @property
    @override
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def numbers(self, values: Values) -> npt.NDArray[np.float64]:
        """Convert stored values, shape (n,), to numbers."""
        return values.astype(np.float64, copy=False)

    @override
    def decode(self, values: Values) -> pa.Array:
        return pa.array(self.numbers(values))


def _plain_label(value: object) -> Label:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        check_text("a label", plain)
        return plain
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, int | float) and abs(plain) < 2**63:
        return plain
    raise ParameterError("domains.label-of-wrong-type", value=value)


def _labels_converter(labels: Iterable[object]) -> tuple[Label, ...]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise ParameterError("domains.labels-not-a-list", labels=labels)
    return tuple(_plain_label(label) for label in labels)


def _check_labels(_: object, attribute: Any, labels: tuple[Label, ...]) -> None:
    if not 1 <= len(labels) <= MAX_LABELS:
        raise ParameterError(
            "domains.label-count-out-of-range",
            name=attribute.name,
            max_labels=MAX_LABELS,
            count=len(labels),
        )
    if len({_family(label) for label in labels}) > 1:
        raise ParameterError(
            "domains.labels-of-several-types", name=attribute.name, labels=list(labels)
        )
    seen: set[Label] = set()
    for label in labels:
        if label in seen:
            raise ParameterError("domains.label-repeated", name=attribute.name, label=label)
        seen.add(label)


def _family(label: Label) -> type:
    return float if isinstance(label, int) and not isinstance(label, bool) else type(label)


def _check_levels(_: object, __: object, levels: tuple[Label, ...]) -> None:
    for level in levels:
        if isinstance(level, str | bool):
            raise ParameterError("domains.level-not-a-number", level=level)
    if any(low >= high for low, high in pairwise(levels)):  # type: ignore[operator]
        raise ParameterError("domains.levels-not-increasing", levels=list(levels))


class FiniteDomain(Domain):
    """A domain with finitely many labels; an answer is stored as the position of its label."""

    labels: tuple[Label, ...]

    @property
    def size(self) -> int:
        """Number of labels."""
        return len(self.labels)

    @property
    @override
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the codes: the smallest unsigned integer type that can store `size`."""
        return np.min_scalar_type(self.size)

    @cached_property
    def _codes(self) -> dict[object, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _codes_of_texts(self) -> dict[str, int]:
        return {
            spelling: code
            for code, label in enumerate(self.labels)
            for spelling in (
                str(label),
                str(label).lower() if isinstance(label, bool) else str(label),
            )
        }

    def code(self, value: object) -> int | None:
        """Return the position of a label or of its text, or None if it is not in the domain."""
        if isinstance(value, str):
            code = self._codes_of_texts.get(value)
            if code is None and _family(self.labels[0]) is float and _NUMBER.fullmatch(value):
                return self._codes.get(float(value))
            return code
        try:
            return self._codes.get(value)
        except TypeError:
            return None

    @override
    def encode(self, column: pa.ChunkedArray) -> tuple[Values, npt.NDArray[np.bool_]]:
        try:
            positions, found = dictionary_codes(column)
        except pa.ArrowNotImplementedError:
            return np.zeros(len(column), self.dtype), np.zeros(len(column), dtype=bool)
        codes = [self.code(value) for value in found.to_pylist()]
        # The last entry is for position -1, a missing answer.
        table = np.array([0 if code is None else code for code in codes] + [0], self.dtype)
        known = np.array([code is not None for code in codes] + [False])
        return table[positions], known[positions]

    @override
    def decode(self, values: Values) -> pa.Array:
        return self._column.take(pa.array(values))

    @override
    def holds(self, values: Values) -> bool:
        return values.dtype == self.dtype and values.max(initial=0) < self.size

    @cached_property
    def _column(self) -> pa.Array:
        if len({type(label) for label in self.labels}) > 1:  # integers and floats
            return pa.array([float(label) for label in self.labels])
        return pa.array(list(self.labels))

    @override
    def describe(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:6])
        return f"{shown}, … ({self.size} labels)" if self.size > 6 else shown

    @override
    def example(self) -> str:
        return f"{type(self).__name__}([{self.describe()}])"


@frozen(slots=False)
class Categorical(FiniteDomain):
    """Labels without an order.

    Parameters
    ----------
    labels : iterable of str, bool, int or float
        The possible answers, each once. Their order only determines the codes.

    Raises
    ------
    ParameterError
        If there is no label, a repeated label, or a label of another type, or if types are mixed.

    Examples
    --------
    >>> Categorical(["no", "yes"]).size
    2
    """

    kind: ClassVar[str] = "categorical"
    labels: tuple[Label, ...] = field(converter=_labels_converter, validator=_check_labels)


@frozen(slots=False)
class Ordinal(FiniteDomain, NumericDomain):
    """Numeric levels in increasing order.

    Parameters
    ----------
    levels : iterable of int or float
        The possible answers, strictly increasing.

    Raises
    ------
    ParameterError
        If there is no level, or the levels do not increase.

    Examples
    --------
    >>> Ordinal(range(5)).levels
    (0, 1, 2, 3, 4)
    """

    kind: ClassVar[str] = "ordinal"
    levels: tuple[Label, ...] = field(
        converter=_labels_converter, validator=[_check_labels, _check_levels]
    )

    @property
    def labels(self) -> tuple[Label, ...]:  # type: ignore[override]
        """The levels, under the name that `Categorical` has too."""
        return self.levels

    @property
    def low(self) -> float:
        """The lowest level."""
        return float(self.levels[0])

    @property
    def high(self) -> float:
        """The highest level."""
        return float(self.levels[-1])

    @property
    def width(self) -> float:
        """``high - low``."""
        return self.high - self.low

    @override
    def numbers(self, values: Values) -> npt.NDArray[np.float64]:
        return np.array(self.levels, np.float64)[values]


def _finite(_: object, attribute: Any, value: float) -> None:
    if not math.isfinite(value):
        raise ParameterError("domains.bound-not-finite", name=attribute.name, value=value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("domains.bound-not-a-number", value=value) from None


@frozen(kw_only=True, slots=False)
class Interval(NumericDomain):
    """Numbers from `low` to `high`, both included.

    Parameters
    ----------
    low, high : float
        Public bounds, ``low < high``. Answers outside are errors and never widen the interval.

    Raises
    ------
    ParameterError
        If a bound is not finite, or ``low >= high``.

    Examples
    --------
    >>> Interval(low=0, high=10).width
    10.0
    """

    kind: ClassVar[str] = "interval"
    low: float = field(converter=_number, validator=_finite)
    high: float = field(converter=_number, validator=_finite)

    def __attrs_post_init__(self) -> None:
        if self.low >= self.high:
            raise ParameterError("domains.bounds-reversed", low=self.low, high=self.high)

    @property
    def width(self) -> float:
        """``high - low``."""
        return self.high - self.low

    @override
    def encode(self, column: pa.ChunkedArray) -> tuple[Values, npt.NDArray[np.bool_]]:
        numbers = as_numbers(column)
        inside = (numbers >= self.low) & (numbers <= self.high)
        return numbers, inside

    @override
    def holds(self, values: Values) -> bool:
        return bool(((values >= self.low) & (values <= self.high)).all())

    @override
    def describe(self) -> str:
        return f"{self.low!r} to {self.high!r}"

    @override
    def example(self) -> str:
        return f"Interval(low={self.low!r}, high={self.high!r})"


def as_numbers(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Return a column as float64, with NaN for missing and invalid values."""
    try:
        numbers = column.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        numbers = pa.chunked_array([[_number_or_nan(value) for value in column.to_pylist()]])
    return numbers.fill_null(math.nan).to_numpy()  # type: ignore[no-any-return]


def _number_or_nan(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def check_finite(domain: object, user: str) -> FiniteDomain:
    """Return `domain` if it is finite; raise AnswerError, which names `user`, otherwise."""
    if not isinstance(domain, FiniteDomain):
        raise _wrong_domain(f"{user} needs a Categorical or Ordinal domain", domain)
    return domain


def check_numeric(domain: object, user: str) -> NumericDomain:
    """Return `domain` if it is numeric; raise AnswerError, which names `user`, otherwise."""
    if not isinstance(domain, NumericDomain):
        raise _wrong_domain(f"{user} needs numbers, an Ordinal or Interval domain", domain)
    return domain


def _wrong_domain(needed: str, domain: object) -> AnswerError:
    text = domain.example() if isinstance(domain, Domain) else repr(domain)
    return AnswerError("domains.labels-needed", needed=needed, text=text)
