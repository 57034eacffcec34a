"""How good an estimate is, and what privacy costs."""

from quietcrowd.evaluation.experiment import Experiment, ExperimentResult
from quietcrowd.evaluation.metrics import (
    centred_error,
    correlation,
    error_rate,
    error_rate_change,
    mean_absolute_error,
    mean_absolute_error_change,
)
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
    "correlation",
    "error_rate",
    "error_rate_change",
    "mean_absolute_error",
    "mean_absolute_error_change",
]
