"""What bounded reports of numbers are worth beside Laplace noise, at equal exact privacy.

``python benchmarks/bench_number_mechanisms.py --draws 20 --write`` writes the table into
``research/docs/theory/bounded-number-mechanisms.md``.
"""

import argparse
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.mechanisms import DuchiMechanism, HybridMechanism
from quietcrowd_research.transforms import log10_dataset

PAGE = Path(__file__).parent.parent / "research/docs/theory/bounded-number-mechanisms.md"
BEGIN, END = "<!-- written by the benchmark -->", "<!-- up to here -->"

MECHANISMS = {
    "laplace": lambda domain, epsilon: qc.LaplaceMechanism(
        domain=domain, epsilon=epsilon, fill=None
    ),
    "piecewise": lambda domain, epsilon: qc.PiecewiseMechanism(domain=domain, epsilon=epsilon),
    "hybrid": lambda domain, epsilon: HybridMechanism(domain=domain, epsilon=epsilon),
    "duchi": lambda domain, epsilon: DuchiMechanism(domain=domain, epsilon=epsilon),
}
SETS = ("emotion", "weather_temperature", "population")
FAMILIES = {
    "simulated crowd": {},
    "heavy tails": {"outliers": 0.1},
    "shared bias": {"bias": 1.0},
    "compressed scales": {"scales": (0.4, 1.0)},
}
WANTED = {1.0: 0.9, 2.0: 0.65}
"""Most of Laplace's excess that the piecewise mechanism may have, by epsilon."""

DRAWS = 20


@dataclass(frozen=True)
class Cell:
    """Mean absolute errors of one crowd at one epsilon.

    Attributes
    ----------
    crowd : str
        The set, or the family.
    epsilon : float
        That of every mechanism, but for 10^-5 of it.
    errors : dict of str to ndarray, shape (draws,)
        By mechanism; "none" without noise, "constant" of the median known truth.
    """

    crowd: str
    epsilon: float
    errors: dict

    def ratio(self, name):
        """Return the excess over no noise as a part of Laplace's, and its standard error."""
        ours, theirs = (self.errors[n] - self.errors["none"] for n in (name, "laplace"))
        ratio = ours.mean() / theirs.mean()
        left = (ours - ratio * theirs) / theirs.mean()
        return ratio, left.std(ddof=1) / len(left) ** 0.5


def error_of(data, truths):
    """Return the mean absolute error of the method that knows the noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = qc.NoiseAware().fit(data, n_jobs=1)
    return qc.mean_absolute_error(estimate, truths)


def real_crowd(name):
    """Return what gives the answers and the known truths of a real set, the same in every draw."""
    dataset = qc.load_dataset(name)
    if name == "population":
        dataset = log10_dataset(dataset)
    plain = error_of(dataset.answers, dataset.truths)
    return lambda _: (dataset.answers, dataset.truths, plain)


def drawn_crowd(options):
    """Return what draws a crowd of a family, another one in every draw."""

    def draw(seed):
        crowd = make_crowd(kind="numbers", **options, random_state=seed)
        return crowd.answers, crowd.truths, error_of(crowd.answers, crowd.truths)

    return draw


def measure(name, crowd, draws, epsilons=tuple(WANTED)):
    """Return the cells of a crowd, one for each epsilon; noise is that of a simulation."""
    errors = {e: {n: [] for n in (*MECHANISMS, "none", "constant")} for e in epsilons}
    for draw in range(draws):
        answers, truths, plain = crowd(draw)
        known = truths["label"].to_numpy().astype(float)
        constant = np.abs(known - np.median(known)).mean()
        for place, epsilon in enumerate(epsilons):
            found = errors[epsilon]
            for row, (kind, maker) in enumerate(MECHANISMS.items()):
                mechanism = maker(answers.domain, epsilon)
                assert epsilon * (1 - 1e-5) <= mechanism.guarantee().epsilon <= epsilon
                rng = np.random.default_rng((draw, place, row))
                reports = mechanism.simulate(
                    answers, random_state=rng, participation_is_public=True
                )
                found[kind].append(error_of(reports, truths))
            found["none"].append(plain)
            found["constant"].append(constant)
    return [
        Cell(name, e, {n: np.array(values) for n, values in found.items()})
        for e, found in errors.items()
    ]


def all_cells(draws):
    """Return the cells of all crowds."""
    crowds = {name: real_crowd(name) for name in SETS}
    crowds |= {name: drawn_crowd(options) for name, options in FAMILIES.items()}
    return [cell for name, crowd in crowds.items() for cell in measure(name, crowd, draws)]


def geometric(cells, name, epsilon):
    """Return the geometric mean of the ratios at an epsilon, with its standard error."""
    found = np.array([cell.ratio(name) for cell in cells if cell.epsilon == epsilon])
    mean = float(np.exp(np.log(found[:, 0]).mean()))
    return mean, mean * float(np.sqrt(((found[:, 1] / found[:, 0]) ** 2).sum())) / len(found)


def table(cells, draws):
    """Return the table as Markdown; rows above their bar come first."""
    others = [name for name in MECHANISMS if name != "laplace"]
    lines = [
        f"Means of {draws} noise samples, each with a new simulated crowd. ± is one standard error "
        'over the samples. The rows "all" have geometric means.\n',
        "| crowd | ε | constant | without noise | Laplace | "
        + " | ".join(f"{name}: fraction of Laplace's excess" for name in others)
        + " | bar |",
        "|---" * (6 + len(others)) + "|",
    ]
    for cell in sorted(cells, key=lambda cell: WANTED[cell.epsilon] - cell.ratio("piecewise")[0]):
        errors = [f"{cell.errors[n].mean():.3g}" for n in ("constant", "none", "laplace")]
        shares = ["{:.3f} ± {:.3f}".format(*cell.ratio(name)) for name in others]
        above = cell.ratio("piecewise")[0] > WANTED[cell.epsilon]
        bar = f"{'above' if above else 'below'} {WANTED[cell.epsilon]:g}"
        lines.append(
            "| " + " | ".join([cell.crowd, f"{cell.epsilon:g}", *errors, *shares, bar]) + " |"
        )
    for epsilon in sorted({cell.epsilon for cell in cells}):
        shares = ["{:.3f} ± {:.3f}".format(*geometric(cells, name, epsilon)) for name in others]
        bar = f"at most {WANTED[epsilon]:g}"
        lines.append("| " + " | ".join(["all", f"{epsilon:g}", "", "", "", *shares, bar]) + " |")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def cells():
    """Return the cells of few draws."""
    return all_cells(4)


@pytest.mark.parametrize("epsilon", WANTED)
def test_windows_are_worth_more_than_laplace_noise(cells, epsilon):
    """Print the table, and hold the geometric mean of all crowds to the bar."""
    print(f"\n{table([cell for cell in cells if cell.epsilon == epsilon], 4)}")
    mean, error = geometric(cells, "piecewise", epsilon)
    assert mean - 2 * error <= WANTED[epsilon]


def main(words=None):
    """Measure, print, and write into the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    given = parser.parse_args(words)
    found = table(all_cells(given.draws), given.draws)
    print(found)
    if given.write:
        text = PAGE.read_text()
        part = re.compile(f"(?<={BEGIN}\n).*?(?={END})", re.DOTALL)
        PAGE.write_text(part.sub(lambda _: f"\n{found}\n", text))


if __name__ == "__main__":
    main()
