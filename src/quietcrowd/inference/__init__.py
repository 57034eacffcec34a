"""The requester side: truth-inference methods, a family to a file, on one shared loop."""

from quietcrowd.inference.averaging import Mean, Median, WeightedMean
from quietcrowd.inference.dawid_skene import DawidSkene
from quietcrowd.inference.estimate import LabelEstimate, NumericEstimate, TruthEstimate
from quietcrowd.inference.glad import GLAD
from quietcrowd.inference.gtm import GTM
from quietcrowd.inference.kdem import KDEm
from quietcrowd.inference.loss_weighted import CATD, CRH
from quietcrowd.inference.mace import MACE
from quietcrowd.inference.moon import MOON
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.noise_warning import noise_ignored
from quietcrowd.inference.ratio_mean import RatioMean
from quietcrowd.inference.registry import (
    METHODS,
    method_from_dict,
    register_method,
    usual_method,
)
from quietcrowd.inference.usual import fit, usual_method_of
from quietcrowd.inference.voting import MajorityVote, WeightedVote

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
    "RatioMean",
    "TruthEstimate",
    "WeightedMean",
    "WeightedVote",
    "fit",
    "method_from_dict",
    "noise_ignored",
    "register_method",
    "usual_method",
    "usual_method_of",
]
