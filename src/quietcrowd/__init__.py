"""Find what is true from a crowd's answers without anyone having to see them.

Names are loaded when they are first used, so that a worker's device that needs
`quietcrowd.mechanisms` alone does not load what infers.
"""

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quietcrowd.accounting.ledger import PrivacyLedger as PrivacyLedger
    from quietcrowd.answers import Answers as Answers
    from quietcrowd.auditing.audit import audit as audit
    from quietcrowd.auditing.report import AuditReport as AuditReport
    from quietcrowd.datasets import Dataset as Dataset
    from quietcrowd.datasets import load_dataset as load_dataset
    from quietcrowd.datasets import sensor_crowd as sensor_crowd
    from quietcrowd.datasets import sparse_crowd as sparse_crowd
    from quietcrowd.datasets import synthetic_crowd as synthetic_crowd
    from quietcrowd.domains import Categorical as Categorical
    from quietcrowd.domains import Domain as Domain
    from quietcrowd.domains import Interval as Interval
    from quietcrowd.domains import Ordinal as Ordinal
    from quietcrowd.evaluation import Experiment as Experiment
    from quietcrowd.evaluation import ExperimentResult as ExperimentResult
    from quietcrowd.evaluation import error_rate as error_rate
    from quietcrowd.evaluation import error_rate_change as error_rate_change
    from quietcrowd.evaluation import mean_absolute_error as mean_absolute_error
    from quietcrowd.evaluation import mean_absolute_error_change as mean_absolute_error_change
    from quietcrowd.exceptions import AnswerError as AnswerError
    from quietcrowd.exceptions import CampaignError as CampaignError
    from quietcrowd.exceptions import FormatError as FormatError
    from quietcrowd.exceptions import LeftOutWarning as LeftOutWarning
    from quietcrowd.exceptions import MissingMechanismError as MissingMechanismError
    from quietcrowd.exceptions import NoiseIgnoredWarning as NoiseIgnoredWarning
    from quietcrowd.exceptions import NoSignalWarning as NoSignalWarning
    from quietcrowd.exceptions import ParameterError as ParameterError
    from quietcrowd.exceptions import QuietcrowdError as QuietcrowdError
    from quietcrowd.exceptions import SimulatedNoiseWarning as SimulatedNoiseWarning
    from quietcrowd.exceptions import UnansweredError as UnansweredError
    from quietcrowd.formats import read_answers as read_answers
    from quietcrowd.formats import read_reports as read_reports
    from quietcrowd.formats import read_truths as read_truths
    from quietcrowd.formats import write_answers as write_answers
    from quietcrowd.formats import write_reports as write_reports
    from quietcrowd.formats import write_table as write_table
    from quietcrowd.inference import CATD as CATD
    from quietcrowd.inference import CRH as CRH
    from quietcrowd.inference import GLAD as GLAD
    from quietcrowd.inference import GTM as GTM
    from quietcrowd.inference import MOON as MOON
    from quietcrowd.inference import DawidSkene as DawidSkene
    from quietcrowd.inference import KDEm as KDEm
    from quietcrowd.inference import MajorityVote as MajorityVote
    from quietcrowd.inference import Mean as Mean
    from quietcrowd.inference import Median as Median
    from quietcrowd.inference import RatioMean as RatioMean
    from quietcrowd.inference import TruthEstimate as TruthEstimate
    from quietcrowd.inference import WeightedMean as WeightedMean
    from quietcrowd.inference import WeightedVote as WeightedVote
    from quietcrowd.inference import noise_ignored as noise_ignored
    from quietcrowd.mechanisms import FiniteChannel as FiniteChannel
    from quietcrowd.mechanisms import LaplacePerturbation as LaplacePerturbation
    from quietcrowd.mechanisms import MatrixFactorization as MatrixFactorization
    from quietcrowd.mechanisms import Mechanism as Mechanism
    from quietcrowd.mechanisms import Memo as Memo
    from quietcrowd.mechanisms import RandomizedResponse as RandomizedResponse
    from quietcrowd.mechanisms import Reports as Reports
    from quietcrowd.mechanisms import SampledVarianceGaussian as SampledVarianceGaussian
    from quietcrowd.mechanisms import TwoLayerRandomizedResponse as TwoLayerRandomizedResponse
    from quietcrowd.privacy import PrivacyGuarantee as PrivacyGuarantee
    from quietcrowd.synthesis import CrowdDensity as CrowdDensity
    from quietcrowd.synthesis import PrisCrowd as PrisCrowd
    from quietcrowd.synthesis import SyntheticClaims as SyntheticClaims
    from quietcrowd.synthesis import plan_for_claims as plan_for_claims
    from quietcrowd.synthesis import plan_releases as plan_releases

__version__ = _version("quietcrowd")

_HOME = {
    "AnswerError": "exceptions",
    "Answers": "answers",
    "AuditReport": "auditing.report",
    "CATD": "inference",
    "CRH": "inference",
    "CampaignError": "exceptions",
    "Categorical": "domains",
    "CrowdDensity": "synthesis",
    "Dataset": "datasets",
    "DawidSkene": "inference",
    "Domain": "domains",
    "Experiment": "evaluation",
    "ExperimentResult": "evaluation",
    "FiniteChannel": "mechanisms",
    "FormatError": "exceptions",
    "GLAD": "inference",
    "GTM": "inference",
    "Interval": "domains",
    "KDEm": "inference",
    "LaplacePerturbation": "mechanisms",
    "MOON": "inference",
    "MajorityVote": "inference",
    "MatrixFactorization": "mechanisms",
    "Mean": "inference",
    "Mechanism": "mechanisms",
    "Median": "inference",
    "Memo": "mechanisms",
    "MissingMechanismError": "exceptions",
    "LeftOutWarning": "exceptions",
    "NoSignalWarning": "exceptions",
    "NoiseIgnoredWarning": "exceptions",
    "Ordinal": "domains",
    "ParameterError": "exceptions",
    "PrisCrowd": "synthesis",
    "PrivacyGuarantee": "privacy",
    "PrivacyLedger": "accounting.ledger",
    "QuietcrowdError": "exceptions",
    "RandomizedResponse": "mechanisms",
    "RatioMean": "inference",
    "Reports": "mechanisms",
    "SampledVarianceGaussian": "mechanisms",
    "SimulatedNoiseWarning": "exceptions",
    "SyntheticClaims": "synthesis",
    "TruthEstimate": "inference",
    "TwoLayerRandomizedResponse": "mechanisms",
    "UnansweredError": "exceptions",
    "WeightedMean": "inference",
    "WeightedVote": "inference",
    "audit": "auditing.audit",
    "error_rate": "evaluation",
    "error_rate_change": "evaluation",
    "load_dataset": "datasets",
    "mean_absolute_error": "evaluation",
    "mean_absolute_error_change": "evaluation",
    "noise_ignored": "inference",
    "plan_for_claims": "synthesis",
    "plan_releases": "synthesis",
    "read_answers": "formats",
    "read_reports": "formats",
    "read_truths": "formats",
    "sensor_crowd": "datasets",
    "sparse_crowd": "datasets",
    "synthetic_crowd": "datasets",
    "write_answers": "formats",
    "write_reports": "formats",
    "write_table": "formats",
}

__all__ = [
    "CATD",
    "CRH",
    "GLAD",
    "GTM",
    "MOON",
    "AnswerError",
    "Answers",
    "AuditReport",
    "CampaignError",
    "Categorical",
    "CrowdDensity",
    "Dataset",
    "DawidSkene",
    "Domain",
    "Experiment",
    "ExperimentResult",
    "FiniteChannel",
    "FormatError",
    "Interval",
    "KDEm",
    "LaplacePerturbation",
    "LeftOutWarning",
    "MajorityVote",
    "MatrixFactorization",
    "Mean",
    "Mechanism",
    "Median",
    "Memo",
    "MissingMechanismError",
    "NoSignalWarning",
    "NoiseIgnoredWarning",
    "Ordinal",
    "ParameterError",
    "PrisCrowd",
    "PrivacyGuarantee",
    "PrivacyLedger",
    "QuietcrowdError",
    "RandomizedResponse",
    "RatioMean",
    "Reports",
    "SampledVarianceGaussian",
    "SimulatedNoiseWarning",
    "SyntheticClaims",
    "TruthEstimate",
    "TwoLayerRandomizedResponse",
    "UnansweredError",
    "WeightedMean",
    "WeightedVote",
    "audit",
    "error_rate",
    "error_rate_change",
    "load_dataset",
    "mean_absolute_error",
    "mean_absolute_error_change",
    "noise_ignored",
    "plan_for_claims",
    "plan_releases",
    "read_answers",
    "read_reports",
    "read_truths",
    "sensor_crowd",
    "sparse_crowd",
    "synthetic_crowd",
    "write_answers",
    "write_reports",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'quietcrowd' has no attribute {name!r}")
    value = getattr(import_module(f"quietcrowd.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
