"""The compiled kernels. What they take is described in core/*_kernels.h."""

from typing import Any

import numpy
import numpy.typing

def instruction_sets() -> list[str]:
    """Return the names to choose from, the best last."""

def instruction_set() -> str:
    """Return the name of the one in use."""

def choose(name: str) -> None:
    """Call its kernels from now on, in all threads: for tests."""

def hash_texts(
    ends: numpy.typing.NDArray[numpy.int64],
    payload: numpy.typing.NDArray[numpy.uint8],
    hashes: numpy.typing.NDArray[numpy.uint64],
) -> None: ...
def vote(
    partition: tuple[Any, ...],
    weights: numpy.typing.NDArray[numpy.int64],
    even: numpy.typing.NDArray[numpy.int64],
    nats: float,
    seed: int,
    agreed: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
) -> None: ...
def infer_by_confusion(
    partition: tuple[Any, ...],
    log_odds: numpy.typing.NDArray[numpy.int32],
    nats: float,
    log_priors: numpy.typing.NDArray[numpy.float64],
    unit: float,
    even: numpy.typing.NDArray[numpy.int64],
    seed: int,
    counts: numpy.typing.NDArray[numpy.int64],
    classes: numpy.typing.NDArray[numpy.int64],
    agreed: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
) -> int: ...
def learn_confusions(
    counts: numpy.typing.NDArray[numpy.int64],
    labels: int,
    added: int,
    added_right: int,
    least: int,
    one: float,
    unit: float,
    log_odds: numpy.typing.NDArray[numpy.int32],
) -> int: ...
def learn_coins(
    right_counts: numpy.typing.NDArray[numpy.int64],
    answers: numpy.typing.NDArray[numpy.int64],
    one_answer: float,
    others: int,
    added_wrong: int,
    added_right: int,
    least: int,
    one: float,
    unit: float,
    log_odds: numpy.typing.NDArray[numpy.int32],
) -> int: ...
def infer_noisy_labels(
    partition: tuple[Any, ...],
    reports: int,
    log_odds: numpy.typing.NDArray[numpy.int32],
    votes: numpy.typing.NDArray[numpy.int32],
    nats: float,
    log_priors: numpy.typing.NDArray[numpy.float64],
    sharpness: float,
    temperatures: numpy.typing.NDArray[numpy.float64],
    unit: float,
    told_unit: float,
    even: numpy.typing.NDArray[numpy.int64],
    seed: int,
    counts: numpy.typing.NDArray[numpy.int64],
    classes: numpy.typing.NDArray[numpy.int64],
    calibration: numpy.typing.NDArray[numpy.int64],
    agreed: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
    posterior: numpy.typing.NDArray[numpy.float64],
) -> int: ...
def coin_cavities(
    partition: tuple[Any, ...],
    votes: tuple[Any, ...],
    laws: tuple[Any, ...],
    first_worker: int,
    histograms: numpy.typing.NDArray[numpy.int64],
) -> None: ...
def table_cavities(
    partition: tuple[Any, ...],
    votes: tuple[Any, ...],
    laws: tuple[Any, ...],
    first_worker: int,
    histograms: numpy.typing.NDArray[numpy.int64],
) -> None: ...
def infer_means(
    partition: tuple[Any, ...],
    weights: numpy.typing.NDArray[numpy.float64],
    low: float,
    high: float,
    weight_unit: float,
    error_unit: float,
    squared: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
) -> None: ...
def infer_medians(
    partition: tuple[Any, ...],
    error_unit: float,
    squared: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
) -> None: ...
def infer_least_losses(
    partition: tuple[Any, ...],
    weights: numpy.typing.NDArray[numpy.float64],
    absolute: bool,
    power: int,
    weight_unit: float,
    error_unit: float,
    loss_unit: float,
    squared: numpy.typing.NDArray[numpy.int64],
    losses: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
) -> None: ...
def sum_per_task(
    offsets: numpy.typing.NDArray[numpy.int64],
    values: numpy.typing.NDArray[numpy.float64],
    unit: float,
    sums: numpy.typing.NDArray[numpy.int64],
) -> None: ...
