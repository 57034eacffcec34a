"""Local randomizers, which run on a worker's device.

Nothing here needs pandas or the compiled core.
"""

from quietcrowd.mechanisms.bounded_law import BoundedLaw
from quietcrowd.mechanisms.bounded_numbers import BoundedChannel
from quietcrowd.mechanisms.channel import Channel, FiniteChannel
from quietcrowd.mechanisms.duchi import DuchiMechanism
from quietcrowd.mechanisms.hybrid import HybridMechanism
from quietcrowd.mechanisms.laplace import LaplaceChannel, LaplacePerturbation
from quietcrowd.mechanisms.matrix_factorization import MatrixFactorization
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.memo.memo import Memo
from quietcrowd.mechanisms.optimal_channel import OptimalChannel
from quietcrowd.mechanisms.piecewise import PiecewiseMechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.sketch import SketchChannel
from quietcrowd.mechanisms.subset_selection import SetChannel, SubsetSelection
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse

__all__ = [
    "BoundedChannel",
    "BoundedLaw",
    "Channel",
    "DuchiMechanism",
    "FiniteChannel",
    "HybridMechanism",
    "LaplaceChannel",
    "LaplacePerturbation",
    "MatrixFactorization",
    "Mechanism",
    "Memo",
    "OptimalChannel",
    "PiecewiseMechanism",
    "RandomizedResponse",
    "Reports",
    "SetChannel",
    "SketchChannel",
    "SubsetSelection",
    "TwoLayerRandomizedResponse",
]
