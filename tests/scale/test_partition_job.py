import numpy as np

from quietcrowd.scale.partition_job import MOST_BYTES, HistogramFile, worker_blocks


def test_blocks_are_as_large_as_may_be():
    assert list(worker_blocks(10, MOST_BYTES // 4)) == [(0, 4), (4, 8), (8, 10)]
    assert list(worker_blocks(3, 2 * MOST_BYTES)) == [(0, 1), (1, 2), (2, 3)]
    assert list(worker_blocks(3, 1)) == [(0, 3)]


def test_what_is_written_is_read_by_slices(tmp_path):
    blocks = [np.arange(24).reshape(2, 3, 4), np.arange(100, 112).reshape(1, 3, 4)]
    whole = np.concatenate(blocks)
    with (tmp_path / "file").open("w+b") as file:
        kept = HistogramFile.write(iter(blocks), file)
        assert kept.shape == whole.shape
        assert len(kept) == 3
        for some in (slice(0, 3), slice(1, 2), slice(2, 10), slice(3, 5)):
            assert np.array_equal(kept[some], whole[some])
