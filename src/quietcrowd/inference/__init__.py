"""The requester side: truth-inference methods, one file each, on one shared loop."""

from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.majority_vote import MajorityVote
from quietcrowd.inference.noise_warning import noise_ignored
from quietcrowd.inference.registry import METHODS, method_from_dict
from quietcrowd.inference.weighted_vote import WeightedVote

__all__ = [
    "METHODS",
    "MajorityVote",
    "TruthEstimate",
    "WeightedVote",
    "method_from_dict",
    "noise_ignored",
]
