"""Accuracy of estimates, and the cost of privacy."""

from quietcrowd.evaluation.experiment import Experiment, ExperimentResult
from quietcrowd.evaluation.metrics import (
    centred_error,
    constant_error_rate,
    correlation,
    error_rate,
    mean_absolute_error,
)

__all__ = [
    "Experiment",
    "ExperimentResult",
    "centred_error",
    "constant_error_rate",
    "correlation",
    "error_rate",
    "mean_absolute_error",
]
