"""Charges of workers, and their JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, TypeAlias

from attrs import evolve, frozen

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.privacy.guarantee import MOST_REPORTS
from quietcrowd.validation import check_real, check_text, check_whole, parse_json, plain

__all__ = ["Charge", "ChargeKey", "add_charge", "check_worker", "read_charges", "write_charges"]

VERSION = 1

ChargeKey: TypeAlias = "tuple[str, str, Mechanism]"
"""Worker, campaign and mechanism."""


@frozen(kw_only=True)
class Charge:
    """Reports of one worker to one campaign with one mechanism.

    Attributes
    ----------
    worker : str
        Id, as text.
    campaign : str
        Name.
    mechanism : Mechanism
        Mechanism that randomized the answers.
    count : int
        Number of answers, or of tasks if every task is reported.
    spared : float
        Difference of the losses about `count` reports on unnamed tasks and about all of these
        together. It is 0 unless the mechanism has a smaller bound for named tasks.
    """

    worker: str
    campaign: str
    mechanism: Mechanism
    count: int
    spared: float = 0.0

    @property
    def key(self) -> ChargeKey:
        """Key of the charge in a ledger."""
        return self.worker, self.campaign, self.mechanism


def add_charge(charges: dict[ChargeKey, Charge], more: Charge) -> None:
    """Merge a charge into the one with the same key, in place; `spared` is rounded down.

    Raises ParameterError if the worker would make more than 10^7 reports to the campaign.
    """
    key = more.key
    before = charges.get(key)
    count, spared = more.count, more.spared
    if before is not None:
        count += before.count
        both = before.spared and spared
        spared = math.nextafter(before.spared + spared, 0.0) if both else before.spared or spared
    what = f"all that {more.worker!r} reports to campaign {more.campaign!r}"
    check_whole(what, count, 1, MOST_REPORTS)
    charges[key] = more if before is None else evolve(more, count=count, spared=spared)


def write_charges(charges: Iterable[Charge]) -> str:
    """Write charges as text for `read_charges`."""
    listed = list(charges)
    mechanisms = list(dict.fromkeys(one.mechanism for one in listed))
    places = {mechanism: place for place, mechanism in enumerate(mechanisms)}
    return json.dumps(
        {
            "ledger": "quietcrowd",
            "version": VERSION,
            "mechanisms": [mechanism.to_dict() for mechanism in mechanisms],
            "charges": [
                [one.worker, one.campaign, places[one.mechanism], one.count]
                + [one.spared] * (one.spared > 0)
                for one in listed
            ],
        }
    )


def read_charges(text: Any) -> dict[ChargeKey, Charge]:
    """Read the text of `write_charges`; raise FormatError if it is invalid."""
    try:
        return _charges_of(_read_ledger(text))
    except RecursionError:
        raise FormatError("this is no ledger: what is in it is nested too deeply") from None


def _charges_of(data: dict[str, Any]) -> dict[ChargeKey, Charge]:
    listed, described = data.get("charges"), data.get("mechanisms")
    if not isinstance(listed, list) or not isinstance(described, list):
        raise FormatError("a ledger needs the lists 'mechanisms' and 'charges'")
    mechanisms = [Mechanism.from_dict(one) for one in described]
    charges: dict[ChargeKey, Charge] = {}
    for place, one in enumerate(listed):
        charge = _read_charge(place, one, mechanisms)
        if charge.key in charges:
            raise FormatError(f"charge {place} of the ledger, {one!r}, stands there twice")
        charges[charge.key] = charge
    return charges


def _read_ledger(text: Any) -> dict[str, Any]:
    if not isinstance(text, str):
        raise FormatError(
            f"a ledger must be text, as PrivacyLedger.to_json gives it; got {type(text).__name__}"
        )
    try:
        data = parse_json(text)
    except ValueError as error:
        raise FormatError(f"a ledger must be JSON: {error}") from None
    if not isinstance(data, dict) or data.get("ledger") != "quietcrowd":
        raise FormatError(
            "this is no ledger: the key 'ledger' is missing. PrivacyLedger.to_json writes one."
        )
    version = data.get("version")
    if version != VERSION or isinstance(version, bool):
        raise FormatError(f"the ledger has version {version!r}; this quietcrowd reads {VERSION}")
    return data


def _read_charge(place: int, charge: Any, mechanisms: list[Mechanism]) -> Charge:
    try:
        worker, campaign, which, count, *rest = charge
        (less,) = rest or (0.0,)
        who = check_worker(worker)
        check_text("campaign", campaign)
        check_whole("mechanism", which, 0, len(mechanisms) - 1)
        check_whole("count", count, 1, MOST_REPORTS)
        check_real("what named tasks lose less", less, 0)
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"charge {place} of the ledger must be worker, campaign, mechanism and count; got "
            f"{charge!r}: {error}"
        ) from None
    mechanism = mechanisms[which]
    return Charge(
        worker=who, campaign=campaign, mechanism=mechanism, count=count, spared=float(less)
    )


def check_worker(worker: Any) -> str:
    """Return an id as text; raise ParameterError unless it is non-empty text or a whole number."""
    known = plain(worker)
    if isinstance(known, bool) or not isinstance(known, str | int):
        raise ParameterError(f"worker must be an id, text or a whole number; got {worker!r}")
    if isinstance(known, str):
        check_text("worker", known)
    return str(known)
