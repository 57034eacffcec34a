"""Synthetic crowds, and loaders of data sets."""

from quietcrowd.datasets.dataset import Dataset, dataset_domain, load_dataset
from quietcrowd.datasets.description import Description, describe
from quietcrowd.datasets.label_crowd import LabelLaw, SampledLabels, label_crowd
from quietcrowd.datasets.number_crowd import NumberLaw, SampledNumbers, number_crowd
from quietcrowd.datasets.synthetic import opinion_crowd, sensor_crowd, sparse_crowd, synthetic_crowd

__all__ = [
    "Dataset",
    "Description",
    "LabelLaw",
    "NumberLaw",
    "SampledLabels",
    "SampledNumbers",
    "dataset_domain",
    "describe",
    "label_crowd",
    "load_dataset",
    "number_crowd",
    "opinion_crowd",
    "sensor_crowd",
    "sparse_crowd",
    "synthetic_crowd",
]
