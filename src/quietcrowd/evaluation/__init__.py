"""How good an estimate is, and what privacy costs."""

from quietcrowd.evaluation.experiment import Experiment, ExperimentResult
from quietcrowd.evaluation.metrics import error_rate, error_rate_change

__all__ = ["Experiment", "ExperimentResult", "error_rate", "error_rate_change"]
