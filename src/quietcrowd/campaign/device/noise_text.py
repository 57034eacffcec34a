"""Sentences and a table that describe the randomization of an answer, with public examples."""

import math
from typing import Any

import numpy as np

from quietcrowd.campaign.device.questions import points_to
from quietcrowd.campaign.terms.near_copies import sent_again
from quietcrowd.campaign.terms.options import spell_label
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.domains import FiniteDomain
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.channels import (
    LaplaceChannel,
    OptionsChannel,
    SketchChannel,
    TableChannel,
)
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL, BoundedDistribution
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution
from quietcrowd.mechanisms.report_meanings import Likelihoods, ListedMeanings

_LONGEST = 24  # most characters shown of an answer's name
_MOST_COLUMNS = 6  # most columns of a table; in larger ones all columns but one look alike
_HALF, _MOST = 0.5, 0.95

_ALMOST_NONE = 0.0005
"""Smaller shares print as "under 0.1 %"."""


def noise_sentences(mechanism: Mechanism, tasks: int) -> tuple[str, ...]:
    """Explain the noise in a campaign of n tasks: in brief first, then in detail."""
    channel: Any = mechanism.channel
    match channel.kind:
        case "table":
            sentences = _of_labels(mechanism, channel)
        case "shift":
            sentences = _of_numbers(mechanism, channel)
        case "weights":
            sentences = _of_bounds(channel.distribution)
        case "options":
            sentences = _among_options(channel)
        case "sets":
            sentences = _of_sets(mechanism, channel.distribution)
        case _:
            sentences = _of_sums(channel, tasks)
    return (*sentences, _again(mechanism))


def _again(mechanism: Mechanism) -> str:
    if sent_again(mechanism):
        return (
            "If this requester asks a question again in the same way and about the same day, your "
            "device sends the same report again and marks it, no matter how you answer then. That "
            "reveals nothing new about your answers, but shows that you have taken part before. "
            "Another requester, another day or other noise gets a fresh report, and the losses add "
            "up."
        )
    return (
        "If a question is asked again, here or in another campaign, it gets fresh noise. All "
        "reports together reveal more than one, and the losses about it add up."
    )


def noise_table(mechanism: Mechanism) -> tuple[tuple[str, ...], ...]:
    """Return the channel as percentages, answers by reports with a header; empty if it is large."""
    table = mechanism.channel.probabilities
    if table is None or table.shape[1] > _MOST_COLUMNS:
        return ()
    answers, reports = _answers(mechanism, len(table)), _reports(mechanism)
    shares = table.tolist()
    return (
        ("", *reports),
        *((name, *map(show_share, row)) for name, row in zip(answers, shares, strict=True)),
    )


def show_share(share: float) -> str:
    """Format a probability in percent, never as 0 or 100 unless exact.

    Examples
    --------
    >>> show_share(0.7310585), show_share(1e-7), show_share(0.99999)
    ('73.1 %', 'under 0.1 %', 'over 99.9 %')
    """
    if 0 < share < 0.0005:
        return "under 0.1 %"
    if 0.9995 <= share < 1:
        return "over 99.9 %"
    return f"{100 * share:.1f} %"


def _answers(mechanism: Mechanism, count: int) -> list[str]:
    """Return the names of the first `count` answers; NULL follows the labels."""
    assert isinstance(mechanism.domain, FiniteDomain)
    return list(map(_name, [*mechanism.domain.labels, None][:count]))


def _reports(mechanism: Mechanism) -> list[str]:
    meanings = mechanism.report_meanings
    assert isinstance(meanings, ListedMeanings)
    if isinstance(meanings, Likelihoods):
        favoured = map(meanings.favoured, range(len(meanings.listed)))
        return [points_to(map(_name, labels)) for labels in favoured]
    return list(map(_name, meanings.listed))


def _name(label: Any) -> str:
    if label is None:
        return "no answer"
    name = one_line(spell_label(label))
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _of_labels(mechanism: Mechanism, channel: TableChannel) -> tuple[str, ...]:
    table = channel.probabilities
    [name], reports = _answers(mechanism, 1), _reports(mechanism)
    often = reports.index(name) if name in reports else int(table[0].argmax())
    others = np.delete(table[0], often).tolist()
    least, most = show_share(min(others)), show_share(max(others))
    of_others = f"in {most}" if least == most else f"in {least} to {most}"
    which = "as the other" if len(others) == 1 else "as each of the others"
    swapped = math.floor(100 * (1 - float(table[0, often])) + 0.5) or "under 1"
    brief = (
        f"Your device sends one of {len(reports)} reports for each answer, at random."
        if reports[often] != name
        else f"On average, your device swaps {swapped} of 100 answers at random, then sends them."
    )
    sentences = [
        brief,
        f"An example: the answer {name!r} is reported as {reports[often]!r} in "
        f"{show_share(table[0, often])} of all cases, and {which} {of_others}.",
    ]
    if channel.per_worker is not None:
        fewest = len(others) * channel.per_worker.bounds[0] / TOTAL
        least_replaced = f"No device replaces fewer than {show_share(fewest)}."
        sentences.append(
            "This is the average over all devices. Each device draws once, for all its answers, "
            "how often it replaces an answer. "
            + ("Some replace almost none." if fewest < _ALMOST_NONE else least_replaced)
        )
    return tuple(sentences)


def _among_options(channel: OptionsChannel) -> tuple[str, ...]:
    """Describe the table that keeps an answer most often: the others protect answers more."""
    table = channel.keeps
    place = int(table.weights.diagonal().argmax())
    shares = table.probabilities[place]
    others = np.delete(shares, place).tolist()
    least, most = show_share(min(others)), show_share(max(others))
    of_others = f"in {most}" if least == most else f"in {least} to {most}"
    which = "the other" if len(others) == 1 else "each other"
    swapped = math.floor(100 * (1 - float(shares[place])))
    return (
        f"On average, your device swaps at least {swapped} of 100 answers at random, then sends "
        "them.",
        f"An example: of {len(shares)} possible answers, yours is reported in "
        f"{show_share(shares[place])} of all cases, and {which} {of_others}. In no question is "
        "yours reported more often.",
    )


def _of_bounds(bounded: BoundedDistribution) -> tuple[str, ...]:
    low, high = bounded.numbers.numbers(np.array([0, bounded.reports - 1])).tolist()
    return (
        f"Your device sends a random number from {low:.4g} to {high:.4g}, on average your answer.",
        f"Your device draws a number from {low:.4g} to {high:.4g}. Any answer can lead to any of "
        f"these numbers, and one answer at most {math.exp(bounded.epsilon):.3g} times as often as "
        "another. On average, the numbers equal the answer. The standard deviation of one number "
        f"is at most {bounded.most_deviation:.3g}.",
    )


def _of_sets(mechanism: Mechanism, distribution: SetDistribution) -> tuple[str, ...]:
    [name] = _answers(mechanism, 1)
    held = show_share(float(distribution.held))
    return (
        f"Your device sends {distribution.members} of {distribution.labels} answers at random, in "
        f"{held} of cases with yours.",
        f"An example: a report is a set of {distribution.members} of the {distribution.labels} "
        f"answers. For the answer {name!r}, it contains {name!r} in "
        f"{held} of all cases, and each other answer in "
        f"{show_share(float(distribution.held_other))}.",
    )


def _of_sums(channel: SketchChannel, tasks: int) -> tuple[str, ...]:
    spread = math.sqrt(2) * channel.scale
    return (
        f"Your device sends only noisy sums over all {tasks:,} questions.",
        "Nothing is sent for single answers. Your device sends only numbers computed from noisy "
        f"sums over all {tasks:,} questions. The standard deviation of their noise is "
        f"{spread:.3g}.",
    )


def _of_numbers(mechanism: Mechanism, channel: LaplaceChannel) -> tuple[str, ...]:
    grid = channel.grid
    half, most = (grid.step * channel.noise.within(share) for share in (_HALF, _MOST))
    middle = (grid.low + grid.high) / 2
    sentences = [
        f"Your device adds random noise to each number: half are {half:.3g} or more off.",
        f"Noise is added to each number. Half of all reports lie within {half:.3g} of the answer, "
        f"and 19 of 20 within {most:.3g}. An example: the answer {middle:.4g} becomes a report "
        f"from {middle - most:.4g} to {middle + most:.4g} in 19 of 20 cases.",
    ]
    if mechanism.every_task:
        sentences.append("A question without an answer also gets a number with noise.")
    bit = channel.participation
    if bit is not None:
        spread = bit.grid.step * bit.noise.within(_MOST)
        sentences.append(
            "With it, your device sends a noisy 1 if you answered, or a noisy 0 if not. 19 of 20 "
            f"lie within {spread:.3g} of the 1 or 0."
        )
    return tuple(sentences)
