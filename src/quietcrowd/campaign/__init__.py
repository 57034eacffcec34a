"""The campaign service: a server that assigns tasks and accepts randomized reports.

Of a worker it stores a pseudonym, a hash of the configuration consented to, and reports. It stores
nothing about who sent them, from where, when, or in which order. `Client` randomizes on the
worker's device, independently of the server. See ``docs/run/campaigns.md``.
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
