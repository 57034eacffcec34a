"""The campaign service: a server that hands out tasks and takes in randomised reports.

It stores of a worker a pseudonym, the hash of what was consented to, and reports: nothing that
tells who sent them, from where, when, or in which order. `Client` is the device of a worker: it
randomises, and needs nothing of the server. See ``docs/campaigns.md``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quietcrowd.campaign.extra import require_client

if TYPE_CHECKING:
    from quietcrowd.campaign.device.client import Client as Client

__all__ = ["Client"]


def __getattr__(name: str) -> Any:
    if name != "Client":
        raise AttributeError(f"module 'quietcrowd.campaign' has no attribute {name!r}")
    require_client()
    return import_module("quietcrowd.campaign.device.client").Client
