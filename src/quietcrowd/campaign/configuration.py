"""The configuration that a worker agrees to: fixed when a campaign opens, and hashed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from attrs import frozen

from quietcrowd.campaign.canonical import canonical_json
from quietcrowd.campaign.channel_config import describe_channel, report_rule
from quietcrowd.campaign.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.privacy.consent import consent_sentences

__all__ = ["Configuration", "build_configuration", "parse_mechanism"]

VERSION = 1


@frozen(kw_only=True)
class Configuration:
    """What is fixed once a campaign is open.

    Attributes
    ----------
    text : bytes
        Canonical JSON.
    hash : bytes
        Its SHA-256.
    """

    text: bytes
    hash: bytes


@lru_cache(maxsize=256)
def parse_mechanism(text: str) -> Mechanism:
    """Return the mechanism that a stored text describes."""
    return Mechanism.from_dict(json.loads(text))


def build_configuration(
    *,
    campaign: str,
    title: str,
    description: str,
    mechanism: Mechanism,
    answers: int | None,
    tasks: Sequence[tuple[str, str, Any]],
) -> Configuration:
    """Return the configuration of a campaign.

    Parameters
    ----------
    campaign : str
        Its id.
    title, description : str
        What it is about.
    mechanism : Mechanism
        What devices do to answers.
    answers : int or None
        Most answers of a worker; None: to every task.
    tasks : sequence of (id, name, data)
        All of them, in the order of their ids.

    Raises
    ------
    ParameterError
        Where there is no task, or there are more than the mechanism or one upload allow.
    FormatError
        Where JSON cannot hold it.
    """
    if not tasks:
        raise ParameterError("a campaign needs at least one task")
    if mechanism.every_task and len(tasks) > MAX_REPORTS:
        raise ParameterError(
            f"every worker reports every task, in one upload: at most {MAX_REPORTS:,} tasks are "
            f"possible; there are {len(tasks):,}"
        )
    most = min(answers or len(tasks), len(tasks), MAX_REPORTS)
    rule = report_rule(mechanism, len(tasks))
    listed = [{"task_id": id_, "task": name, "data": data} for id_, name, data in tasks]
    text = canonical_json(
        {
            "version": VERSION,
            "campaign": campaign,
            "title": title,
            "description": description,
            "mechanism": mechanism.to_dict(),
            "channel": describe_channel(mechanism),
            "report": rule.to_dict(),
            "answers_per_participant": most,
            "tasks": len(tasks),
            "tasks_hash": hashlib.sha256(canonical_json(listed)).hexdigest(),
            **_privacy(mechanism, most, len(tasks)),
        }
    )
    return Configuration(text=text, hash=hashlib.sha256(text).digest())


def _privacy(mechanism: Mechanism, answers: int, tasks: int) -> Mapping[str, Any]:
    """Return what a worker loses at most, in numbers and in sentences.

    An infinite loss, as of who answered what, has no number in JSON: it is null.
    """
    guarantee = mechanism.guarantee(answers=answers, tasks=tasks)
    return {
        "guarantee": {
            "answer_epsilon": _finite(guarantee.epsilon),
            "worker_epsilon": _finite(guarantee.worker_epsilon),
            "delta": guarantee.delta,
            "participation_protected": guarantee.participation_protected,
            "assumptions": guarantee.assumptions,
        },
        "consent": consent_sentences(guarantee, priors=(0.5,)),
    }


def _finite(loss: float) -> float | None:
    return loss if loss < float("inf") else None
