"""Mechanisms of campaigns: descriptions, channel documents, and reports."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.campaign.terms.canonical import LARGEST_WHOLE, canonical_json
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import (
    FormatError,
    ParameterError,
    QuietcrowdError,
    RemovedMechanismError,
)
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.channels import read_channel
from quietcrowd.mechanisms.channels.noise import Shift
from quietcrowd.mechanisms.channels.reading import MAX_LABELS, MAX_NUMBERS
from quietcrowd.mechanisms.channels.table import MAX_SIZE
from quietcrowd.mechanisms.mechanism import SketchBounds
from quietcrowd.report_domains import LabelSets, Lattice, Numbers, OrNull

_MOST_LEVELS = 1_000
UNREADABLE = (QuietcrowdError, ArithmeticError, AttributeError, TypeError, ValueError)
"""Exceptions that an invalid description may raise."""


@frozen(kw_only=True)
class ReportRule:
    """The range of reports that devices of a campaign can send.

    `low` and `high` bound a report's value: the position of a label, the number of a label set, a
    count of grid steps, or an index of bounded reports. For a sketch, they bound each of its
    `sketch_length` numbers, which are integers if `whole`. `bit_low` and `bit_high` bound the noisy
    participation bit.
    """

    low: float
    high: float
    bit_low: int | None = None
    bit_high: int | None = None
    every_task: bool = False
    sketch_length: int | None = None
    whole: bool = True

    def accepts(self, value: int, bit: int | None) -> bool:
        """Return whether the channel can produce this value and bit."""
        if self.bit_low is None or self.bit_high is None:
            return self.low <= value <= self.high and bit is None
        fits = bit is not None and self.bit_low <= bit <= self.bit_high
        return self.low <= value <= self.high and fits

    def packed(self, numbers: Sequence[int | float]) -> npt.NDArray[Any] | None:
        """Return the numbers of a sketch as an array, or None if no device can produce them."""
        whole = all(isinstance(number, int) for number in numbers)
        if len(numbers) != self.sketch_length or (self.whole and not whole):
            return None
        if not all(self.low <= number <= self.high for number in numbers):
            return None
        return np.array(numbers, self.dtype)

    def cut_off(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Clip noisy values of reports, or numbers of a sketch, to the bounds."""
        within: npt.NDArray[Any] = np.clip(values, self.low, self.high)
        return within

    def cut_off_bits(self, bits: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Clip noisy participation bits to their bounds."""
        within: npt.NDArray[Any] = np.clip(bits, self.bit_low, self.bit_high)
        return within

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of a stored sketch."""
        return np.dtype("<i8" if self.whole else "<f8")

    def to_dict(self) -> dict[str, Any]:
        """Return the member ``report`` of a configuration, JSON-ready."""
        if self.sketch_length is not None:
            numbers = "whole" if self.whole else "real"
            document = {"kind": "sketch", "length": self.sketch_length, "numbers": numbers}
            return {**document, "value": [self.low, self.high]} if self.whole else document
        bit = None if self.bit_low is None else [self.bit_low, self.bit_high]
        value = [self.low, self.high]
        return {"kind": "value", "value": value, "bit": bit, "every_task": self.every_task}


def report_rule(mechanism: Mechanism, tasks: int) -> ReportRule:
    """Return the range of a mechanism's reports, or raise `ParameterError` if it is too large."""
    if mechanism.options is not None:
        raise ParameterError("campaign.options-per-task")
    if mechanism.option_counts:
        return ReportRule(low=0, high=max(mechanism.option_counts) - 1)
    sketch = mechanism.sketch_bounds(tasks)
    if sketch is not None:
        return _sketch_rule(sketch)
    low, high = _range(mechanism.report_domain, mechanism)
    bit, bit_distribution = mechanism.participation_domain, mechanism.channel.participation
    bit_low, bit_high = None, None
    if isinstance(bit, Lattice) and bit_distribution is not None:
        bit_low, bit_high = _with_noise(bit_distribution, bit)
    return ReportRule(
        low=low, high=high, bit_low=bit_low, bit_high=bit_high, every_task=mechanism.every_task
    )


def _range(domain: Domain, mechanism: Mechanism) -> tuple[int, int]:
    if isinstance(domain, FiniteDomain | OrNull):
        highest = domain.null_code if isinstance(domain, OrNull) else domain.size - 1
        if highest >= MAX_LABELS:
            raise ParameterError(
                "campaign.too-many-labels", max_labels=MAX_LABELS, highest=highest + 1
            )
        return 0, highest
    if isinstance(domain, Numbers):
        return 0, domain.count - 1
    if isinstance(domain, LabelSets):
        if domain.domain.size > MAX_LABELS:
            raise ParameterError(
                "campaign.too-many-labels-in-sets", max_labels=MAX_LABELS, size=domain.domain.size
            )
        return 0, domain.size - 1
    shift = mechanism.channel.shift
    if not isinstance(domain, Lattice) or shift is None:
        raise ParameterError("campaign.reports-unsupported", domain=domain.example())
    return _with_noise(shift, domain)


def _with_noise(shift: Shift, domain: Lattice) -> tuple[int, int]:
    most = min(int(np.iinfo(domain.dtype).max), LARGEST_WHOLE)
    beyond = shift.noise.reach
    return max(-beyond, -most), min(shift.grid.steps + beyond, most)


def _sketch_rule(bounds: SketchBounds) -> ReportRule:
    if bounds.length > MAX_NUMBERS:
        raise ParameterError(
            "campaign.too-many-numbers", max_numbers=MAX_NUMBERS, length=bounds.length
        )
    if bounds.whole and bounds.high > LARGEST_WHOLE:
        raise ParameterError("campaign.noise-too-large")
    return ReportRule(
        low=bounds.low,
        high=bounds.high,
        every_task=True,
        sketch_length=bounds.length,
        whole=bounds.whole,
    )


def usable_mechanism(described: Mapping[str, Any]) -> Mechanism:
    """Return a described mechanism if a campaign can use it; otherwise raise `FormatError`.

    The message does not quote it. Mechanisms of earlier versions raise `RemovedMechanismError`.
    """
    domain = described.get("domain")
    levels = (
        [len(one) for one in domain.values() if isinstance(one, list)]
        if isinstance(domain, dict)
        else []
    )
    try:
        if max(levels, default=0) > (MAX_SIZE if "option_counts" in described else _MOST_LEVELS):
            raise ValueError
        mechanism = Mechanism.from_dict(described)
        report_rule(mechanism, 1)
        canonical_json(mechanism.to_dict())
        document = json.loads(canonical_json(mechanism.channel.describe()))
        read_channel(document, mechanism.domain)
        return mechanism
    except RemovedMechanismError:
        raise
    except UNREADABLE:
        raise FormatError("campaign.mechanism-invalid") from None


def why_not_in_page(mechanism: Mechanism) -> str | None:
    """Return why a web page cannot run a mechanism, and a remedy; None if it can."""
    solution = mechanism.channel.describe().get("solution")
    if solution is None:
        return None
    return (
        f'Workers answer in a page, and variant "{solution}" solves for numbers that no '
        'page can compute to the last digit. Take variant "fill" or "statistics".'
    )


@lru_cache(maxsize=256)
def parse_mechanism(text: str) -> Mechanism:
    """Return the mechanism of a stored description."""
    return Mechanism.from_dict(json.loads(text))


def stored_rule(text: str, tasks: int = 1) -> ReportRule:
    """Return the range of a stored mechanism's reports; a sketch's bounds depend on `tasks`."""
    return report_rule(parse_mechanism(text), tasks)


def decoded(domain: Domain, codes: Sequence[int]) -> pa.Array:
    """Decode stored values of reports into labels or numbers."""
    dtype: np.dtype[Any] = domain.dtype
    return domain.decode(np.array(codes, dtype))


def earlier_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a channel document as older campaigns contain it, which devices can still answer."""
    kinds = {"shift": "laplace", "weights": "bounded"}
    kept = {k: v for k, v in document.items() if k not in ("numbered", "per_worker", "solution")}
    return {**kept, "kind": kinds.get(document["kind"], document["kind"])}
