"""The worker side: local randomisers, one file each.

Nothing here needs Numba or pandas: this is what runs on a worker's device.
"""

from quietcrowd.mechanisms.channel import Channel, FiniteChannel
from quietcrowd.mechanisms.laplace import LaplacePerturbation
from quietcrowd.mechanisms.laplace_channel import LaplaceChannel
from quietcrowd.mechanisms.matrix_factorization import MatrixFactorization
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.memo.memo import Memo
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.reports import Reports
from quietcrowd.mechanisms.sampled_variance import SampledVarianceGaussian
from quietcrowd.mechanisms.sampled_variance_channel import SampledVarianceChannel
from quietcrowd.mechanisms.sketch_channel import SketchChannel
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse

__all__ = [
    "Channel",
    "FiniteChannel",
    "LaplaceChannel",
    "LaplacePerturbation",
    "MatrixFactorization",
    "Mechanism",
    "Memo",
    "RandomizedResponse",
    "Reports",
    "SampledVarianceChannel",
    "SampledVarianceGaussian",
    "SketchChannel",
    "TwoLayerRandomizedResponse",
]
