"""Which questions a device has reported on: a server that asks again is noticed.

Noise is drawn once for each campaign. A second campaign with the same question draws it afresh, and
both reports together tell more than each alone. So a hash of each question stays with the device
once a report on it may have been sent. Questions are no secret, and a hash tells no answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from quietcrowd.campaign.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.client_terms import CampaignTask
from quietcrowd.domains import Domain
from quietcrowd.exceptions import FormatError
from quietcrowd.mechanisms.private_file import create_private, read_private

__all__ = ["AskedQuestions", "question_hash"]

_FILE = "questions.json"


def question_hash(task: CampaignTask, domain: Domain) -> str:
    """Return the SHA-256, in hex, of what is asked and which answers there are.

    A task without data is its name.
    """
    asked = {"data": task.data} if task.data else {"task": task.name}
    return canonical_hash({**asked, "domain": domain.to_dict()}).hex()


@frozen(kw_only=True)
class AskedQuestions:
    """What a device has reported on, campaign by campaign.

    Attributes
    ----------
    folder : Path
        Of one campaign, beside those of the others.
    origin : str
        Of its server. What other servers asked has no part in what this one sees of the device.
    """

    folder: Path
    origin: str

    def keep(self, questions: Iterable[str]) -> None:
        """Keep the hashes of what this campaign gets reports on; a second time has no effect."""
        kept = {"origin": self.origin, "questions": sorted(set(questions))}
        create_private(self.folder / _FILE, canonical_json(kept) + b"\n")

    def elsewhere(self) -> frozenset[str]:
        """Return the hashes of what other campaigns of the server got reports on.

        Raises
        ------
        FormatError
            Where a file is damaged, or others have rights to it.
        """
        asked: set[str] = set()
        for path in sorted(self.folder.parent.glob(f"*/{_FILE}")):
            if path.parent != self.folder:
                origin, questions = _read(path)
                asked.update(questions if origin == self.origin else ())
        return frozenset(asked)


def _read(path: Path) -> tuple[str, list[str]]:
    try:
        document = json.loads(read_private(path))
        origin, questions = document["origin"], document["questions"]
        whole = isinstance(questions, list) and all(isinstance(one, str) for one in questions)
    except (ValueError, RecursionError, KeyError, TypeError):
        whole = False
    if not whole:
        raise FormatError(
            f"{path} is damaged. Restore it from a copy; without it this device cannot tell which "
            "questions it has reported on before."
        )
    return origin, questions
