"""How good an estimate is, and what privacy costs."""

from quietcrowd.evaluation.baselines import PrivTDSILike, TeslaLike
from quietcrowd.evaluation.density_experiment import DensityExperiment
from quietcrowd.evaluation.density_figure import DensityFigure, DensityFigureResult
from quietcrowd.evaluation.experiment import Experiment, ExperimentResult
from quietcrowd.evaluation.figure import Figure, FigureResult
from quietcrowd.evaluation.figures import FIGURES
from quietcrowd.evaluation.metrics import (
    centred_error,
    correlation,
    error_rate,
    error_rate_change,
    mean_absolute_error,
    mean_absolute_error_change,
)

__all__ = [
    "FIGURES",
    "DensityExperiment",
    "DensityFigure",
    "DensityFigureResult",
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
