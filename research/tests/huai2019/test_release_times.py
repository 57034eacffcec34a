import pytest

from quietcrowd.datasets import make_crowd
from quietcrowd_research.huai2019.release_times import release_times


@pytest.mark.nightly
def test_a_row_per_number_and_method():
    frame = release_times(
        make_crowd(kind="opinions", tasks=20),
        bandwidth=1.0,
        epsilon0=1.0,
        claims=(1, 5_000),
        trials=2,
        seed=0,
    )
    assert frame["claims"].tolist() == [1, 1, 5_000, 5_000]
    assert set(frame["method"]) == {"with the test", "without the test"}
    assert (frame["milliseconds"] > 0).all()
    assert (frame["tasks"] == 20).all()
    times = frame.set_index(["method", "claims"])["milliseconds"]
    for method in ("with the test", "without the test"):
        assert times[method, 5_000] > times[method, 1]
