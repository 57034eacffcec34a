"""Test vectors of privacy losses: what a campaign says of its mechanism, and what it costs.

Floats that two computers may round otherwise: they are compared within a relative `NEAR`, or
within `ROUNDING` where what is lost is next to nothing.
"""

from __future__ import annotations

import json

import quietcrowd as qc
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.mechanisms import Mechanism, TwoLayerRandomizedResponse

NEAR, ROUNDING = 1e-12, 2e-14


def shared_losses(one):
    """Return the losses about a cell and about a row for each number of reports."""
    mechanism = Mechanism.from_dict(one["terms"]["mechanism"])
    given = []
    for count in one["counts"]:
        loss = mechanism.guarantee(answers=count, tasks=count if mechanism.every_task else None)
        given.append({"cell": loss.epsilon, "row": loss.total_epsilon})
    return given


def _terms(mechanism):
    described = {"mechanism": mechanism.to_dict(), "channel": mechanism.channel.describe()}
    return json.loads(canonical_json(described))


def _labels(size):
    return qc.Categorical([f"{place}" for place in range(size)])


def shared_inputs():
    flips = [
        *((2, 0.0, 2 / (1 + 2.718281828459045)), (2, 0.1, 0.3), (2, 0.7, 1.0), (2, 0.45, 0.55)),
        *((3, 0.0, 0.8), (3, 0.2, 0.20004), (4, 0.3, 0.31), (5, 0.25, 0.25), (7, 0.0, 1.0)),
        *((10, 0.05, 0.9), (2, 0.0, 0.001), (2, 0.3, 0.300002)),
    ]
    betas = [
        *((2, 0.0, 0.42, 2, 2), (2, 0.0, 1.0, 1, 3), (3, 0.2, 0.20004, 16, 1), (5, 0.3, 0.3, 2, 5)),
        *((2, 0.3, 0.999999, 7, 16), (10, 0.1, 0.9, 16, 16)),
    ]
    drawn = [(2, 1.0), (3, 0.05), (3, 4.0), (6, 8.0), (10, 2.0), (4, 0.0)]
    mechanisms = [
        *(
            TwoLayerRandomizedResponse(domain=_labels(size), low=low, high=high)
            for size, low, high in flips
        ),
        *(
            TwoLayerRandomizedResponse(
                domain=_labels(size), distribution="epsilon", epsilon=epsilon, missing=null
            )
            for size, epsilon in drawn
            for null in (None, "category")
        ),
        *(
            TwoLayerRandomizedResponse(
                domain=_labels(size),
                distribution="beta",
                low=low,
                high=high,
                alpha=alpha,
                beta=beta,
            )
            for size, low, high, alpha, beta in betas
        ),
    ]
    counts = [1, 2, 3, 10, 277, 1000, 5000]
    return [{"terms": _terms(mechanism), "counts": counts} for mechanism in mechanisms]


LOSS_GIVES = {"shared_losses": shared_losses}
LOSS_INPUTS = {"shared_losses": shared_inputs}


def numbers_of(given):
    """Return all numbers of what an input gives, in order, with where they stand."""
    if isinstance(given, dict | list):
        items = given.items() if isinstance(given, dict) else enumerate(given)
        return [
            (f"{name}.{rest}", number)
            for name, value in items
            for rest, number in numbers_of(value)
        ]
    return [] if given is None else [("", given)]
