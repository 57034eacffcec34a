"""Accuracy of estimates, and the cost of privacy."""

from quietcrowd.evaluation.calibration_error import (
    excess_calibration_error,
    expected_calibration_error,
)
from quietcrowd.evaluation.experiment import Experiment, ExperimentResult
from quietcrowd.evaluation.label_oracle import counted_confusions, label_posterior
from quietcrowd.evaluation.metrics import (
    centred_error,
    constant_error_rate,
    correlation,
    error_rate,
    error_rate_change,
    mean_absolute_error,
    mean_absolute_error_change,
)
from quietcrowd.evaluation.number_oracle import counted_number_law, number_posterior
from quietcrowd.evaluation.papers import FIGURES, Figure, FigureResult
from quietcrowd.evaluation.papers.baselines import PrivTDSILike, TeslaLike
from quietcrowd.evaluation.papers.density_experiment import DensityExperiment

__all__ = [
    "FIGURES",
    "DensityExperiment",
    "Experiment",
    "ExperimentResult",
    "Figure",
    "FigureResult",
    "PrivTDSILike",
    "TeslaLike",
    "centred_error",
    "constant_error_rate",
    "correlation",
    "counted_confusions",
    "counted_number_law",
    "error_rate",
    "error_rate_change",
    "excess_calibration_error",
    "expected_calibration_error",
    "label_posterior",
    "mean_absolute_error",
    "mean_absolute_error_change",
    "number_posterior",
]
