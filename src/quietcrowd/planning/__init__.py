"""Expected error of a campaign before the first answer."""

from quietcrowd.planning.best_mechanism import (
    MechanismRanking,
    RankedMechanism,
    best_mechanism,
)
from quietcrowd.planning.campaign_plan import CampaignPlan, PlanRow
from quietcrowd.planning.crowd_assumption import (
    CrowdAssumption,
    CrowdSize,
    LabelCrowd,
    NumberCrowd,
)
from quietcrowd.planning.least import LeastNumber, least_epsilon, least_workers
from quietcrowd.planning.menu_error import expected_error, expected_half_width
from quietcrowd.planning.pilot import PilotAssumption, assumption_of_pilot
from quietcrowd.planning.planner import plan
from quietcrowd.planning.public_facts import PublicFacts
from quietcrowd.planning.simulation import SimulatedError, simulate

__all__ = [
    "CampaignPlan",
    "CrowdAssumption",
    "CrowdSize",
    "LabelCrowd",
    "LeastNumber",
    "MechanismRanking",
    "NumberCrowd",
    "PilotAssumption",
    "PlanRow",
    "PublicFacts",
    "RankedMechanism",
    "SimulatedError",
    "assumption_of_pilot",
    "best_mechanism",
    "expected_error",
    "expected_half_width",
    "least_epsilon",
    "least_workers",
    "plan",
    "simulate",
]
