"""The worker side: local randomisers, one file each.

Nothing here needs Numba or pandas: this is what runs on a worker's device.
"""

from quietcrowd.mechanisms.channel import FiniteChannel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.reports import Reports
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse

__all__ = [
    "FiniteChannel",
    "Mechanism",
    "RandomizedResponse",
    "Reports",
    "TwoLayerRandomizedResponse",
]
