"""Synthetic crowds, and loaders of data sets."""

from quietcrowd.datasets.crowds import make_crowd
from quietcrowd.datasets.dataset import Dataset, dataset_domain, load_dataset
from quietcrowd.datasets.guessing_crowd import LabelDistribution, SampledLabels
from quietcrowd.datasets.number_crowd import NumberDistribution, SampledNumbers
from quietcrowd.description import Description

__all__ = [
    "Dataset",
    "Description",
    "LabelDistribution",
    "NumberDistribution",
    "SampledLabels",
    "SampledNumbers",
    "dataset_domain",
    "load_dataset",
    "make_crowd",
]
