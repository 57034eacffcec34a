"""Truth inference on answers that do not fit into memory, stored as partitions on disk."""

from quietcrowd.scale.connecting import connect
from quietcrowd.scale.dask import DaskExecutor
from quietcrowd.scale.importing import partition_parquet
from quietcrowd.scale.inferring import StoreEstimate, infer_store
from quietcrowd.scale.randomizing import randomize_store
from quietcrowd.scale.store import Store, is_store

__all__ = [
    "DaskExecutor",
    "Store",
    "StoreEstimate",
    "connect",
    "infer_store",
    "is_store",
    "partition_parquet",
    "randomize_store",
]
