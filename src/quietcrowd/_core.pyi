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
    truth_map: tuple[Any, ...],
    unit: float,
    told_unit: float,
    even: numpy.typing.NDArray[numpy.int64],
    seed: int,
    counts: numpy.typing.NDArray[numpy.int64],
    classes: numpy.typing.NDArray[numpy.int64],
    told: tuple[Any, ...],
    agreed: numpy.typing.NDArray[numpy.int64],
    messages: numpy.typing.NDArray[numpy.float64],
    apparent: numpy.typing.NDArray[numpy.float64],
    estimates: tuple[Any, ...],
    posterior: numpy.typing.NDArray[numpy.float64],
) -> int: ...
def coin_cavities(
    partition: tuple[Any, ...],
    votes: tuple[Any, ...],
    distributions: tuple[Any, ...],
    first_worker: int,
    histograms: numpy.typing.NDArray[numpy.int64],
) -> None: ...
def table_cavities(
    partition: tuple[Any, ...],
    votes: tuple[Any, ...],
    distributions: tuple[Any, ...],
    first_worker: int,
    histograms: numpy.typing.NDArray[numpy.int64],
) -> None: ...
def set_cavities(
    partition: tuple[Any, ...],
    signs: tuple[Any, ...],
    workers: tuple[Any, ...],
    log_priors: numpy.typing.NDArray[numpy.float64],
    nodes: numpy.typing.NDArray[numpy.float64],
    first_worker: int,
    histograms: numpy.typing.NDArray[numpy.int64],
) -> None: ...
def infer_sets(
    partition: tuple[Any, ...],
    signs: tuple[Any, ...],
    workers: tuple[Any, ...],
    constancy: numpy.typing.NDArray[numpy.float64],
    log_priors: numpy.typing.NDArray[numpy.float64],
    mistakes: bool,
    truth_map: tuple[Any, ...],
    unit: float,
    mistake_unit: float,
    told_unit: float,
    even: numpy.typing.NDArray[numpy.int64],
    seed: int,
    sums: tuple[Any, ...],
    estimates: tuple[Any, ...],
    posterior: numpy.typing.NDArray[numpy.float64],
) -> int: ...
def fill_report_logs(
    nodes: numpy.typing.NDArray[numpy.float64],
    accuracies: numpy.typing.NDArray[numpy.float64],
    logs: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def add_evidences(
    histograms: numpy.typing.NDArray[numpy.int64],
    logs: numpy.typing.NDArray[numpy.float64],
    log_weights: numpy.typing.NDArray[numpy.float64],
    crowds: numpy.typing.NDArray[numpy.float64],
    sums: numpy.typing.NDArray[numpy.int64],
) -> None: ...
def add_crowd_counts(
    histograms: numpy.typing.NDArray[numpy.int64],
    logs: numpy.typing.NDArray[numpy.float64],
    log_weights: numpy.typing.NDArray[numpy.float64],
    crowd: numpy.typing.NDArray[numpy.float64],
    sums: numpy.typing.NDArray[numpy.int64],
) -> None: ...
def estimate_accuracies(
    histograms: numpy.typing.NDArray[numpy.int64],
    nodes: numpy.typing.NDArray[numpy.float64],
    log_weights: numpy.typing.NDArray[numpy.float64],
    crowd: numpy.typing.NDArray[numpy.float64],
    tail: float,
    found: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def weigh_workers(
    members: numpy.typing.NDArray[numpy.int64],
    counts: numpy.typing.NDArray[numpy.int64],
    count_unit: float,
    crowd: tuple[Any, ...],
    one: float,
    worker_unit: float,
    report_unit: float,
    evidence_unit: float,
    all_rows: bool,
    log_odds: numpy.typing.NDArray[numpy.int32],
    votes: numpy.typing.NDArray[numpy.int32],
    constancy: numpy.typing.NDArray[numpy.float64],
    sums: tuple[Any, ...],
    mistaken: numpy.typing.NDArray[numpy.int64],
) -> int: ...
def bound_votes(
    votes: numpy.typing.NDArray[numpy.int32], most: numpy.typing.NDArray[numpy.float64]
) -> None: ...
def weigh_set_workers(
    counts: numpy.typing.NDArray[numpy.int64],
    held: numpy.typing.NDArray[numpy.int64],
    answers: numpy.typing.NDArray[numpy.int64],
    bases: numpy.typing.NDArray[numpy.int64],
    count_unit: float,
    communities: numpy.typing.NDArray[numpy.float64],
    constants: numpy.typing.NDArray[numpy.float64],
    accuracies: numpy.typing.NDArray[numpy.float64],
    logs: numpy.typing.NDArray[numpy.float64],
    grid: numpy.typing.NDArray[numpy.float64],
    with_label: float,
    without: float,
    one: float,
    share_one: float,
    worker_unit: float,
    evidence_unit: float,
    log_odds: numpy.typing.NDArray[numpy.int32],
    skills: numpy.typing.NDArray[numpy.int32],
    steady: numpy.typing.NDArray[numpy.int32],
    constancy: numpy.typing.NDArray[numpy.float64],
    sums: tuple[Any, ...],
) -> int: ...
def infer_with_easiness(
    partition: tuple[Any, ...],
    abilities: numpy.typing.NDArray[numpy.int64],
    unit: float,
    rest_unit: float,
    even: numpy.typing.NDArray[numpy.int64],
    seed: int,
    pulls: numpy.typing.NDArray[numpy.int64],
    bends: numpy.typing.NDArray[numpy.int64],
    agreed: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
    easiness: numpy.typing.NDArray[numpy.float64],
) -> int: ...
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
def infer_gaussian(
    partition: tuple[Any, ...],
    weights: numpy.typing.NDArray[numpy.float64],
    precision_unit: float,
    prior_mean: float,
    prior_precision: float,
    cut: float,
    weight_unit: float,
    square_unit: float,
    error_unit: float,
    squared: numpy.typing.NDArray[numpy.int64],
    kept: numpy.typing.NDArray[numpy.int64],
    evidence: numpy.typing.NDArray[numpy.int64],
    errors: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
) -> None: ...
def infer_densities(
    partition: tuple[Any, ...],
    weights: numpy.typing.NDArray[numpy.float64],
    at_mode: bool,
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
def evaluate_normal_laplace(
    errors: numpy.typing.NDArray[numpy.float64],
    sigmas: numpy.typing.NDArray[numpy.float64],
    scales: numpy.typing.NDArray[numpy.float64],
    values: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def evaluate_information(
    sigmas: numpy.typing.NDArray[numpy.float64],
    scales: numpy.typing.NDArray[numpy.float64],
    information: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def infer_by_mixture(
    partition: tuple[Any, ...],
    sigmas: numpy.typing.NDArray[numpy.float64],
    weights: numpy.typing.NDArray[numpy.float64],
    scale: float,
    prior_mean: float,
    prior_precision: float,
    low: float,
    high: float,
    rest: float,
    weight_unit: float,
    error_unit: float,
    square_unit: float,
    evidence_unit: float,
    truth_unit: float,
    squared: numpy.typing.NDArray[numpy.int64],
    sums: numpy.typing.NDArray[numpy.int64],
    evidence: numpy.typing.NDArray[numpy.int64],
    truth_sums: numpy.typing.NDArray[numpy.int64],
    estimates: tuple[Any, ...],
) -> None: ...
def fill_exp_minus(
    numbers: numpy.typing.NDArray[numpy.float64], values: numpy.typing.NDArray[numpy.float64]
) -> None: ...
def fill_log(
    numbers: numpy.typing.NDArray[numpy.float64], values: numpy.typing.NDArray[numpy.float64]
) -> None: ...
def fill_functions(
    numbers: numpy.typing.NDArray[numpy.float64], values: numpy.typing.NDArray[numpy.float64]
) -> None: ...
def fill_integers(
    numbers: numpy.typing.NDArray[numpy.float64], values: numpy.typing.NDArray[numpy.int64]
) -> None: ...
def fill_fraction_tails(
    points: numpy.typing.NDArray[numpy.float64],
    others: numpy.typing.NDArray[numpy.float64],
    tails: numpy.typing.NDArray[numpy.float64],
    other_tails: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def blend_distributions(
    beliefs: numpy.typing.NDArray[numpy.float64],
    distributions: numpy.typing.NDArray[numpy.float64],
    table: numpy.typing.NDArray[numpy.int32],
) -> None: ...
def weigh_distributions(
    residuals: numpy.typing.NDArray[numpy.int64],
    unit: float,
    distributions: numpy.typing.NDArray[numpy.float64],
    evidence: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def infer_by_bins(
    partition: tuple[Any, ...],
    reports: tuple[Any, ...],
    priors: tuple[Any, ...],
    distributions: tuple[Any, ...],
    distances: tuple[Any, ...],
    line: tuple[Any, ...],
    densities: numpy.typing.NDArray[numpy.float64],
    weights: numpy.typing.NDArray[numpy.float64],
    borne: numpy.typing.NDArray[numpy.float64],
    levels: numpy.typing.NDArray[numpy.float64],
    ends: numpy.typing.NDArray[numpy.float64],
    units: tuple[Any, ...],
    tally: tuple[Any, ...],
    messages: numpy.typing.NDArray[numpy.float64],
    quantiles: numpy.typing.NDArray[numpy.float64],
    estimates: tuple[Any, ...],
) -> None: ...
def kernel_densities(
    gaussian: bool,
    differences: numpy.typing.NDArray[numpy.float64],
    bandwidths: numpy.typing.NDArray[numpy.float64],
    found: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def feature_inners(
    gaussian: bool,
    differences: numpy.typing.NDArray[numpy.float64],
    bandwidths: numpy.typing.NDArray[numpy.float64],
    found: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def kernel_overlaps(
    gaussian: bool,
    differences: numpy.typing.NDArray[numpy.float64],
    firsts: numpy.typing.NDArray[numpy.float64],
    seconds: numpy.typing.NDArray[numpy.float64],
    found: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def claim_distances(
    gaussian: bool, densities: tuple[Any, ...], distances: numpy.typing.NDArray[numpy.float64]
) -> None: ...
def squared_errors(
    gaussian: bool,
    first: int,
    end: int,
    densities: tuple[Any, ...],
    others: tuple[Any, ...],
    errors: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def hampel_psis(
    residuals: numpy.typing.NDArray[numpy.float64],
    thresholds: tuple[Any, ...],
    found: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def hampel_losses(
    residuals: numpy.typing.NDArray[numpy.float64],
    thresholds: tuple[Any, ...],
    found: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def tally_distances(
    gaussian: bool,
    first: int,
    end: int,
    offsets: numpy.typing.NDArray[numpy.int64],
    worker_codes: numpy.typing.NDArray[numpy.uint32],
    values: numpy.typing.NDArray[numpy.float64],
    bandwidths: numpy.typing.NDArray[numpy.float64],
    worker_weights: numpy.typing.NDArray[numpy.float64],
    unit: float,
    tally: numpy.typing.NDArray[numpy.int64],
) -> None: ...
def weigh_locally(
    gaussian: bool,
    first: int,
    end: int,
    offsets: numpy.typing.NDArray[numpy.int64],
    values: numpy.typing.NDArray[numpy.float64],
    bandwidths: numpy.typing.NDArray[numpy.float64],
    quantiles: tuple[Any, ...],
    max_iterations: int,
    tolerance: float,
    printed: bool,
    weights: numpy.typing.NDArray[numpy.float64],
) -> None: ...
def fill_seed_edges(
    offsets: numpy.typing.NDArray[numpy.int64],
    weights: numpy.typing.NDArray[numpy.float64],
    least: numpy.typing.NDArray[numpy.int64],
    total: int,
    edges: numpy.typing.NDArray[numpy.uint64],
) -> None: ...
def make_attempts(
    claims: tuple[Any, ...],
    blur_edges: numpy.typing.NDArray[numpy.uint64],
    falls: numpy.typing.NDArray[numpy.float64],
    passes: numpy.typing.NDArray[numpy.uint64],
    tasks: numpy.typing.NDArray[numpy.int64],
    words: numpy.typing.NDArray[numpy.uint64],
    candidates: numpy.typing.NDArray[numpy.int64],
    passed: numpy.typing.NDArray[numpy.bool_],
) -> None: ...
