"""Linear algebra of matrix factorization, from noisy profile sums to predicted answers.

It follows the noise, so neither it nor its rounding affects the guarantee. All numbers are floats
in the unit of the answers.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import AnswerError, ParameterError

Floats = npt.NDArray[np.float64]

BLOCK = 2**23
RESTS, GROWS = 1e-9, 1e9


def worker_blocks(workers: int, rank: int) -> list[slice]:
    """Split the workers into blocks, each with matrices that fit into memory together."""
    size = max(1, BLOCK // rank**2)
    return [slice(start, min(start + size, workers)) for start in range(0, workers, size)]


def least_squares_matrices(profile: Floats, answered: list[npt.NDArray[Any]]) -> Floats:
    """Return ``sum v_j v_j'`` over the tasks of each worker, shape (workers, rank, rank).

    `profile` has the shape (tasks, rank); `answered` are the tasks of each worker.
    """
    rank = profile.shape[1]
    matrices = np.empty((len(answered), rank, rank))
    for matrix, tasks in zip(matrices, answered, strict=True):
        rows = profile[tasks]
        np.matmul(rows.T, rows, out=matrix)
    return matrices


def ridge_solve(matrices: Floats, sums: Floats, ridge: float) -> Floats:
    """Return ``(H + ridge I)^-1 b`` for every worker, shape (workers, rank).

    H, `matrices`, has the shape (workers, rank, rank), or (1, rank, rank) if all workers share it;
    b, `sums`, has the shape (workers, rank).
    """
    rank = sums.shape[1]
    shifted = matrices + ridge * np.eye(rank)
    try:
        if len(shifted) == 1:
            return np.asarray(np.linalg.solve(shifted[0], sums.T).T, np.float64)
        return np.asarray(np.linalg.solve(shifted, sums[:, :, np.newaxis])[:, :, 0], np.float64)
    except np.linalg.LinAlgError:
        raise ParameterError("mechanisms.ridge-too-small", ridge=ridge, rank=rank) from None


def semidefinite(matrices: Floats) -> Floats:
    """Return the nearest positive semidefinite matrices: negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh(matrices)
    scaled = vectors * np.maximum(values, 0.0)[:, np.newaxis, :]
    return np.matmul(scaled, vectors.transpose(0, 2, 1))  # type: ignore[no-any-return]


def descend(
    matrices: Floats, sums: Floats, start: Floats, learning_rate: float | None, max_steps: int
) -> Floats:
    """Minimize ``u'Hu - 2 b'u`` for every worker by gradient descent.

    H, `matrices`, has the shape (workers, rank, rank) and is regular; b, `sums`, `start` and the
    result have the shape (workers, rank). `learning_rate` is the step along the gradient ``2 (H u -
    b)``, by default ``1 / (2 lambda)`` with the largest eigenvalue lambda of H.
    """
    if learning_rate is None:
        rates = 0.5 / np.linalg.eigvalsh(matrices)[:, -1]
    else:
        rates = np.full(len(sums), learning_rate)
    points = start.copy()
    moving = np.arange(len(points))
    first = np.linalg.norm(_gradients(matrices, sums, start), axis=1)
    for _ in range(max_steps):
        gradients = _gradients(matrices[moving], sums[moving], points[moving])
        norms = np.linalg.norm(gradients, axis=1)
        still = norms > RESTS * first[moving]
        if not still.any():
            return points
        if (norms > GROWS * first[moving]).any():
            raise AnswerError("mechanisms.descent-diverged")
        moving = moving[still]
        points[moving] -= rates[moving, np.newaxis] * gradients[still]
    raise AnswerError(
        "mechanisms.descent-not-converged",
        count=len(moving),
        total=len(points),
        max_steps=max_steps,
    )


def _gradients(matrices: Floats, sums: Floats, points: Floats) -> Floats:
    gradients: Floats = 2.0 * (np.einsum("wij,wj->wi", matrices, points) - sums)
    return gradients
