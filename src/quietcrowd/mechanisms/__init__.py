"""Local randomizers, which run on a worker's device.

Nothing here needs pandas or the compiled core.
"""

from quietcrowd.mechanisms.bounded_numbers import (
    DuchiMechanism,
    HybridMechanism,
    PiecewiseMechanism,
)
from quietcrowd.mechanisms.joining import join_reports
from quietcrowd.mechanisms.laplace import LaplaceMechanism
from quietcrowd.mechanisms.matrix_factorization import MatrixFactorization
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.memo import Memo
from quietcrowd.mechanisms.mixture import Mixture, NonPrivate
from quietcrowd.mechanisms.optimal_mechanism import OptimalMechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.report_frames import reports_from_frame
from quietcrowd.mechanisms.subset_selection import SubsetSelection
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse

__all__ = [
    "DuchiMechanism",
    "HybridMechanism",
    "LaplaceMechanism",
    "MatrixFactorization",
    "Mechanism",
    "Memo",
    "Mixture",
    "NonPrivate",
    "OptimalMechanism",
    "PiecewiseMechanism",
    "RandomizedResponse",
    "Reports",
    "SubsetSelection",
    "TwoLayerRandomizedResponse",
    "join_reports",
    "reports_from_frame",
]
