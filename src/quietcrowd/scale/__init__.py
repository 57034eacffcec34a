"""Truth inference on more answers than fit into memory: partitions on disk, passed over in turn."""

from quietcrowd.scale.importing import partition_parquet
from quietcrowd.scale.running import StoreEstimate, infer_store
from quietcrowd.scale.store import Store, is_store

__all__ = ["Store", "StoreEstimate", "infer_store", "is_store", "partition_parquet"]
