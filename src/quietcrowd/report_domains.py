"""Domains of reports that answers do not have: NULL, sets, unbounded numbers, and several kinds."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.domains import (
    Domain,
    FiniteDomain,
    Label,
    NumericDomain,
    as_numbers,
    check_numeric,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import one_of, positive, whole_number

MOST_SETS = 2**53
"""Most sets, so that JSON readers and floats represent all ranks exactly."""

Values = npt.NDArray[Any]


def _has_labels(_: object, __: object, domain: Any) -> None:
    if not isinstance(domain, FiniteDomain):
        raise ParameterError("answers.domain-not-labels", domain=domain)


@frozen(kw_only=True, slots=False)
class OrNull(Domain):
    """The labels of a finite domain, and NULL, whose code is the last, for no answer."""

    kind: ClassVar[str] = "or-null"
    domain: FiniteDomain = field(validator=_has_labels)

    @property
    def null_code(self) -> int:
        """The code of NULL."""
        return self.domain.size

    @property
    def size(self) -> int:
        """Number of possible reports, including NULL."""
        return self.domain.size + 1

    @property
    @override
    def dtype(self) -> np.dtype[Any]:
        return self.domain.dtype

    @override
    def encode(self, column: pa.ChunkedArray) -> tuple[Values, npt.NDArray[np.bool_]]:
        if column.null_count == len(column):
            return np.full(len(column), self.null_code, self.dtype), np.ones(len(column), bool)
        codes, inside = self.domain.encode(column)
        missing = column.is_null().to_numpy()
        return np.where(missing, self.null_code, codes).astype(self.dtype), inside | missing

    @override
    def decode(self, values: Values) -> pa.Array:
        null = values == self.null_code
        return self.domain.decode(pa.array(np.where(null, 0, values), mask=null))

    @override
    def holds(self, values: Values) -> bool:
        return values.dtype == self.dtype and values.max(initial=0) <= self.null_code

    @override
    def describe(self) -> str:
        return f"{self.domain.describe()}, or missing"

    @override
    def example(self) -> str:
        return f"OrNull(domain={self.domain.example()})"

    @override
    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.to_dict()}

    @classmethod
    @override
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> "OrNull":
        return cls(domain=Domain.from_dict(parameters["domain"]))  # type: ignore[arg-type]


class _Counted(Domain):
    """Whole numbers from 0 to ``size - 1``."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of possible reports."""

    @property
    @override
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64)

    @override
    def encode(self, column: pa.ChunkedArray) -> tuple[Values, npt.NDArray[np.bool_]]:
        numbers = as_numbers(column)
        inside = (numbers >= 0) & (numbers < self.size) & (np.rint(numbers) == numbers)
        return np.where(inside, numbers, 0).astype(np.int64), inside

    @override
    def decode(self, values: Values) -> pa.Array:
        return pa.array(values)

    @override
    def holds(self, values: Values) -> bool:
        low, high = values.min(initial=0), values.max(initial=0)
        return bool(values.dtype == self.dtype and low >= 0 and high < self.size)


@frozen(kw_only=True, slots=False)
class LabelSets(_Counted):
    """Sets of `members` labels of a finite domain.

    A set is stored and written as its rank among all sets, see `ranks_of`.

    Examples
    --------
    >>> from quietcrowd import Categorical
    >>> sets = LabelSets(domain=Categorical(["cat", "dog", "fox", "owl"]), members=2)
    >>> sets.members_of(np.array([0, 5]))
    [('cat', 'dog'), ('fox', 'owl')]
    """

    kind: ClassVar[str] = "label-sets"
    domain: FiniteDomain = field(validator=_has_labels)
    members: int = field(validator=whole_number(1))

    @property
    @override
    def size(self) -> int:
        return math.comb(self.domain.size, self.members)

    def members_of(self, values: Values) -> list[tuple[Label, ...]]:
        """Return the labels of sets, given by their ranks, shape (n,)."""
        codes = sets_of(values, self.domain.size, self.members).tolist()
        return [tuple(self.domain.labels[code] for code in one) for one in codes]

    @override
    def describe(self) -> str:
        return f"the number of a set of {self.members} of {self.domain.size} labels"

    @override
    def example(self) -> str:
        return f"LabelSets(domain={self.domain.example()}, members={self.members})"

    @override
    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.to_dict(), "members": self.members}

    @classmethod
    @override
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> "LabelSets":
        domain = Domain.from_dict(parameters["domain"])
        return cls(domain=domain, members=parameters["members"])  # type: ignore[arg-type]


@frozen(kw_only=True, slots=False)
class Lattice(NumericDomain):
    """The numbers ``origin + step k`` for integers k, stored with `bits` (32 or 64)."""

    kind: ClassVar[str] = "lattice"
    origin: float
    step: float = field(validator=positive)
    bits: int = field(default=32, validator=one_of(32, 64))

    @property
    @override
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(f"int{self.bits}")

    @override
    def encode(self, column: pa.ChunkedArray) -> tuple[Values, npt.NDArray[np.bool_]]:
        numbers = as_numbers(column)
        places = np.rint((numbers - self.origin) / self.step)
        fits = np.abs(places) < 2.0 ** (self.bits - 1)
        values = np.where(fits, places, 0).astype(self.dtype)
        return values, fits & (self.numbers(values) == numbers)

    @override
    def holds(self, values: Values) -> bool:
        return values.dtype == self.dtype

    @override
    def numbers(self, values: Values) -> npt.NDArray[np.float64]:
        return self.origin + self.step * values.astype(np.float64)

    @override
    def describe(self) -> str:
        return f"{self.origin!r} plus multiples of {self.step!r}"

    @override
    def example(self) -> str:
        return f"Lattice(origin={self.origin!r}, step={self.step!r})"


@frozen(kw_only=True, slots=False)
class Numbers(NumericDomain):
    """The numbers ``origin + step k`` for integers k from 0 to ``count - 1``."""

    kind: ClassVar[str] = "numbers"
    origin: float
    step: float = field(validator=positive)
    count: int = field(validator=whole_number(2, 2**32))

    @property
    @override
    def dtype(self) -> np.dtype[Any]:
        return np.min_scalar_type(self.count - 1)

    @override
    def encode(self, column: pa.ChunkedArray) -> tuple[Values, npt.NDArray[np.bool_]]:
        numbers = as_numbers(column)
        places = np.rint((numbers - self.origin) / self.step)
        fits = (places >= 0) & (places < self.count)
        values = np.where(fits, places, 0).astype(self.dtype)
        return values, fits & (self.numbers(values) == numbers)

    @override
    def holds(self, values: Values) -> bool:
        return values.dtype == self.dtype and values.max(initial=0) < self.count

    @override
    def numbers(self, values: Values) -> npt.NDArray[np.float64]:
        return self.origin + self.step * values.astype(np.float64)

    @override
    def describe(self) -> str:
        return f"{self.count:,} numbers from {self.origin!r} in steps of {self.step!r}"

    @override
    def example(self) -> str:
        return f"Numbers(origin={self.origin!r}, step={self.step!r}, count={self.count})"


def stored_codes(domain: Domain) -> range | None:
    """Return the integers that a domain of reports stores; None if it stores other values.

    Numbers of a lattice of 64 bits count up to 2^53: noise beyond has a probability below e^-128.
    """
    if isinstance(domain, Lattice):
        most = 2 ** min(domain.bits - 1, 53) - 1
        return range(-most, most + 1)
    size = domain.count if isinstance(domain, Numbers) else getattr(domain, "size", None)
    return None if size is None else range(size)


def _check_parts(_: object, __: object, parts: tuple[Domain, ...]) -> None:
    for part in parts:
        if stored_codes(part) is None:
            raise ParameterError("domains.part-not-integers", domain=part.example())


@frozen(kw_only=True, slots=False)
class OneOf(_Counted):
    """Reports of several mechanisms: one integer states the mechanism and its report.

    It is the number of all codes of earlier `parts`, plus the position of the report's code among
    those of its own part.
    """

    kind: ClassVar[str] = "one-of"
    parts: tuple[Domain, ...] = field(validator=_check_parts)

    @cached_property
    def _codes(self) -> tuple[range, ...]:
        return tuple(codes for part in self.parts if (codes := stored_codes(part)) is not None)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """First integer of each part, and their total number, shape (parts + 1,)."""
        return np.array([*accumulate(map(len, self._codes), initial=0)], np.int64)

    @property
    @override
    def size(self) -> int:
        return int(self.starts[-1])

    def part_codes(self, values: Values) -> npt.NDArray[np.intp]:
        """Return the position of each value's part."""
        return np.searchsorted(self.starts, values, side="right") - 1

    def values_of(self, part: int, codes: Values) -> Values:
        """Return codes of one part as this domain stores them."""
        own = self._codes[part]
        stored: Values = np.clip(codes.astype(np.int64), own[0], own[-1])
        stored += self.starts[part] - own[0]
        return stored

    def codes_of(self, part: int, values: Values) -> Values:
        """Return values of one part as its own domain stores them."""
        own: Values = values - self.starts[part] + self._codes[part][0]
        return own.astype(self.parts[part].dtype)

    @property
    def is_numeric(self) -> bool:
        """Whether all parts are numbers."""
        return all(isinstance(part, NumericDomain) for part in self.parts)

    def numbers(self, values: Values) -> npt.NDArray[np.float64]:
        """Convert stored values of numeric parts, shape (n,), to numbers."""
        found, places = np.empty(len(values)), self.part_codes(values)
        for place, part in enumerate(self.parts):
            mine = places == place
            codes = self.codes_of(place, values[mine])
            found[mine] = check_numeric(part, "a report").numbers(codes)
        return found

    @override
    def describe(self) -> str:
        return "; or ".join(part.describe() for part in self.parts)

    @override
    def example(self) -> str:
        return f"OneOf(parts=({', '.join(part.example() for part in self.parts)},))"

    @override
    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "parts": [part.to_dict() for part in self.parts]}

    @classmethod
    @override
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> "OneOf":
        return cls(parts=tuple(map(Domain.from_dict, parameters["parts"])))


@frozen(kw_only=True, slots=False)
class Reals(NumericDomain):
    """All finite numbers."""

    kind: ClassVar[str] = "reals"

    @override
    def encode(self, column: pa.ChunkedArray) -> tuple[Values, npt.NDArray[np.bool_]]:
        numbers = as_numbers(column)
        return numbers, np.isfinite(numbers)

    @override
    def holds(self, values: Values) -> bool:
        return values.dtype == np.float64 and bool(np.isfinite(values).all())

    @override
    def describe(self) -> str:
        return "any finite number"

    @override
    def example(self) -> str:
        return "Reals()"


@lru_cache(maxsize=64)
def binomials(labels: int, members: int) -> npt.NDArray[np.int64]:
    """Return ``C(c, i + 1)`` at [i, c] for codes c, at most `MOST_SETS`."""
    table = np.array(
        [
            [min(math.comb(code, place + 1), MOST_SETS) for code in range(labels)]
            for place in range(members)
        ],
        np.int64,
    )
    table.flags.writeable = False
    return table


def ranks_of(sets: npt.NDArray[Any], labels: int) -> npt.NDArray[np.int64]:
    """Return the ranks of sets of increasing codes, shape (n, members).

    The combinatorial number system (D. E. Knuth, "The Art of Computer Programming", volume 4A,
    section 7.2.1.3) gives the set of codes ``c_1 < c_2 < ... < c_d`` the rank
    ``sum of C(c_i, i)``, a bijection between sets of d of k labels and the integers from 0 to
    ``C(k, d) - 1``. `labels` allows at most `MOST_SETS` sets.

    Examples
    --------
    >>> ranks_of(np.array([[0, 1], [0, 2], [1, 2], [0, 3]]), 4).tolist()
    [0, 1, 2, 3]
    """
    table = binomials(labels, sets.shape[1])
    ranks = np.zeros(len(sets), np.int64)
    for place, row in enumerate(table):
        ranks += row[sets[:, place]]
    return ranks


def sets_of(ranks: npt.NDArray[Any], labels: int, members: int) -> npt.NDArray[np.int64]:
    """Return the sets with these ranks as increasing codes, shape (n, members).

    Ranks are below ``C(labels, members)``, which is at most `MOST_SETS`.

    Examples
    --------
    >>> sets_of(np.array([0, 5]), 4, 2).tolist()
    [[0, 1], [2, 3]]
    """
    table = binomials(labels, members)
    left = np.array(ranks, np.int64)
    sets = np.empty((len(left), members), np.int64)
    for place in range(members - 1, -1, -1):
        sets[:, place] = np.searchsorted(table[place], left, side="right") - 1
        left -= table[place][sets[:, place]]
    return sets


def sets_with(ranks: npt.NDArray[Any], labels: int, members: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the labels in each set, shape (n, labels); parameters as in `sets_of`."""
    sets = sets_of(ranks, labels, members)
    held = np.zeros((len(sets), labels), np.bool_)
    np.put_along_axis(held, sets, values=True, axis=1)
    return held
