import json

import numpy as np
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.inference.labels.voting import AccuracyState
from quietcrowd.inference.loop import LoopProgress
from quietcrowd.inference.numbers.moon_updates import ErrorModel, TruthPrior
from quietcrowd.scale.checkpoint import Checkpoint

STATE = AccuracyState.from_accuracy(np.array([0.3, 0.9]), 3)


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(
        path=tmp_path / "run.checkpoint",
        method=qc.WeightedVote(),
        store="s",
        known_truths="g",
        example=lambda: STATE,
    )


def test_a_course_comes_back(checkpoint):
    assert checkpoint.load().state is None
    checkpoint.save(LoopProgress(state=STATE, history=(-1.5, -0.1)))
    progress = checkpoint.load()
    assert progress.history == (-1.5, -0.1)
    assert type(progress.state) is AccuracyState
    for name in ("accuracy", "weights"):
        assert getattr(progress.state, name).tobytes() == getattr(STATE, name).tobytes()
        assert getattr(progress.state, name).dtype == getattr(STATE, name).dtype


def test_records_within_a_state_come_back(checkpoint):
    variance = np.array([0.1, 0.2])
    state = ErrorModel(
        extent=3.0,
        middle=0.5,
        variance=variance,
        weights=variance,
        pooled=float("nan"),
        truths=TruthPrior(mean=0.25, precision=4.0),
        step=variance,
        haste=variance,
        cautious=variance,
    )
    checkpoint.save(LoopProgress(state=state, history=(0.0,)))
    found = evolve(checkpoint, example=lambda: state).load().state
    assert found.truths == state.truths
    assert np.isnan(found.pooled)
    assert (found.extent, found.objective) == (3.0, -np.inf)
    assert type(found.extent) is float


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"store": "other"}, "was made with another store"),
        ({"known_truths": "other"}, "was made with other known truths"),
        ({"method": qc.WeightedVote(smoothing=2)}, r'belongs to {"method": "weighted-vote"'),
        ({"method": qc.DawidSkene()}, "but this run uses"),
        ({"method": qc.WeightedVote(max_iter=1)}, "has 2 iterations, but max_iter is 1"),
    ],
)
def test_another_run_is_refused(checkpoint, change, words):
    checkpoint.save(LoopProgress(state=STATE, history=(0.0, 1.0)))
    with pytest.raises(ParameterError, match=words) as error:
        evolve(checkpoint, **change).load()
    assert str(error.value).endswith("Name another file, or delete this one to start again.")


def test_a_run_may_go_on_for_longer(checkpoint):
    checkpoint.save(LoopProgress(state=STATE, history=(0.0, 1.0)))
    longer = evolve(checkpoint, method=qc.WeightedVote(max_iter=500))
    assert longer.load().history == (0.0, 1.0)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"state", b"\x93NUMPY"])
def test_files_that_are_none(checkpoint, content):
    checkpoint.path.write_bytes(content)
    with pytest.raises(FormatError, match="this is not a checkpoint"):
        checkpoint.load()


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ({"format": "other"}, "not a checkpoint"),
        ({"version": 7}, "has version 7"),
        ({"state": "Nothing"}, "its state is 'Nothing', not 'AccuracyState'"),
        ({"state": None}, "its state is None"),
        ({"state": ["x"]}, "its state is"),
        ({"method": 7}, "its method is 7"),
    ],
)
def test_notes_that_are_wrong(checkpoint, note, words):
    arrays = kept(checkpoint)
    arrays["note"] = np.array(json.dumps(json.loads(str(arrays["note"])) | note))
    with checkpoint.path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(FormatError, match=words):
        checkpoint.load()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": np.zeros(1, np.int64)}, r"weights is int64 of shape \(1,\), not int64 of"),
        ({"weights": np.zeros(2)}, "weights is float64"),
        ({"accuracy": np.float64(0.5)}, r"accuracy is float64 of shape \(\)"),
        ({"weights": np.array(["a", "b"])}, "weights is <U1"),
        ({"ability": np.zeros(2)}, "it contains ability, accuracy, weights, not accuracy, weights"),
        ({"history": np.zeros((2, 2))}, "history is float64 of shape"),
        ({"history": np.array(["a", "b"])}, "history is <U1"),
        ({"history": np.float64(1)}, "history is float64 of shape"),
        ({"note": np.array("[1]")}, "its note does not describe a checkpoint"),
    ],
)
def test_arrays_of_another_kind(checkpoint, change, words):
    arrays = kept(checkpoint) | change
    with checkpoint.path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(FormatError, match=f"this is not a checkpoint: {words}"):
        checkpoint.load()


def kept(checkpoint):
    """Return what stands in a file of a checkpoint."""
    checkpoint.save(LoopProgress(state=STATE, history=(0.0,)))
    with np.load(checkpoint.path) as file:
        return dict(file)


def test_arrays_of_one_kind_are_no_checkpoint(checkpoint):
    with checkpoint.path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(FormatError, match="this is not a checkpoint"):
        checkpoint.load()


def test_a_checkpoint_that_runs_code_is_refused(checkpoint):
    with checkpoint.path.open("wb") as file:
        np.savez(file, note=np.array([{}], object), history=np.zeros(1))
    with pytest.raises(FormatError, match="this is not a checkpoint"):
        checkpoint.load()


def test_the_folder_must_exist(checkpoint, tmp_path):
    with pytest.raises(FileNotFoundError, match="no such directory"):
        evolve(checkpoint, path=tmp_path / "no" / "c").load()
