"""Synthetic crowds, and loaders for real ones."""

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.folder import dataset_domain, load_dataset
from quietcrowd.datasets.sparse import sparse_crowd
from quietcrowd.datasets.synthetic import synthetic_crowd

__all__ = ["Dataset", "dataset_domain", "load_dataset", "sparse_crowd", "synthetic_crowd"]
