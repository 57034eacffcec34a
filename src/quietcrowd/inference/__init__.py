"""Truth inference, on the requester's side: methods, their models, and one loop for all."""

from quietcrowd.inference.estimate import LabelEstimate, NumericEstimate, TruthEstimate
from quietcrowd.inference.labels.dawid_skene import DawidSkene
from quietcrowd.inference.labels.glad import GLAD
from quietcrowd.inference.labels.mace import MACE
from quietcrowd.inference.labels.voting import MajorityVote, WeightedVote
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.notices import ignores_noise
from quietcrowd.inference.numbers.averaging import Mean, Median, WeightedMean
from quietcrowd.inference.numbers.gtm import GTM
from quietcrowd.inference.numbers.kdem import KDEm
from quietcrowd.inference.numbers.losses import CATD, CRH
from quietcrowd.inference.numbers.moon import MOON
from quietcrowd.inference.numbers.ratio_mean import RatioMean
from quietcrowd.inference.ranking.ranking import Ranking
from quietcrowd.inference.registry import (
    METHODS,
    fit,
    method_from_dict,
    register_method,
    usual_method,
    usual_method_of,
)

__all__ = [
    "CATD",
    "CRH",
    "GLAD",
    "GTM",
    "MACE",
    "METHODS",
    "MOON",
    "DawidSkene",
    "KDEm",
    "LabelEstimate",
    "MajorityVote",
    "Mean",
    "Median",
    "NoiseAware",
    "NumericEstimate",
    "Ranking",
    "RatioMean",
    "TruthEstimate",
    "WeightedMean",
    "WeightedVote",
    "fit",
    "ignores_noise",
    "method_from_dict",
    "register_method",
    "usual_method",
    "usual_method_of",
]
