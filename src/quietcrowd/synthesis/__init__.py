"""Release of synthetic claims by a trusted collector."""

from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.planner import ReleasePlan, plan_for_claims, plan_releases
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.synthesis.release import SyntheticClaims

__all__ = [
    "CrowdDensity",
    "PrisCrowd",
    "ReleasePlan",
    "SyntheticClaims",
    "plan_for_claims",
    "plan_releases",
]
