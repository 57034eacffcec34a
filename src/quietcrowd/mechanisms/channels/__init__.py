"""Channels by kind: the randomization of an answer, as documents that two languages read.

Each kind is one module here and one in ``campaign/web/worker/channels/``. A mechanism needs no
other code on a page: its parameters end in a document.
"""

from collections.abc import Mapping
from typing import Any

from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.bounded_distribution import BoundedDistribution
from quietcrowd.mechanisms.channels.integer_weights import BoundedChannel, SetChannel
from quietcrowd.mechanisms.channels.options import OptionsChannel
from quietcrowd.mechanisms.channels.shift import LaplaceChannel
from quietcrowd.mechanisms.channels.sketch import SketchChannel
from quietcrowd.mechanisms.channels.table import TableChannel

__all__ = [
    "KINDS",
    "BoundedChannel",
    "BoundedDistribution",
    "Channel",
    "LaplaceChannel",
    "OptionsChannel",
    "SetChannel",
    "SketchChannel",
    "TableChannel",
    "read_channel",
]

_READ = (TableChannel, LaplaceChannel, BoundedChannel, SetChannel, SketchChannel, OptionsChannel)

KINDS = {kind.kind: kind for kind in _READ}
"""Classes of channels by the kind of their document."""


def read_channel(document: Any, domain: Domain) -> Channel:
    """Return the channel of a document about answers in a domain."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ParameterError("mechanisms.channel-kind-unknown", kinds=", ".join(KINDS))
    return KINDS[kind].read(document, domain)
