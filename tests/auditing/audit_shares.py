"""How much of the stated loss of one answer an audit proves: the table of research/docs/audit.md.

``python -m tests.auditing.audit_shares`` prints it. The noise is simulated, of the same
distribution as the real one, so that it takes minutes and not an hour.
"""

import re
from pathlib import Path

from quietcrowd.auditing import audit
from quietcrowd.commands.choices import choose_mechanism
from quietcrowd.commands.lab.audit import DEFAULT_DOMAIN

PAGE = Path(__file__).parents[2] / "research" / "docs" / "audit.md"

DRAWS = 100_000

EPSILONS = (1.0, 2.0, 4.0, 8.0)

SPECIFICATIONS = (
    "one-layer",
    "one-layer:missing=category",
    "subset-selection",
    "optimal",
    "two-layer",
    "two-layer:distribution=beta:alpha=2:beta=2",
    "two-layer:distribution=epsilon",
    "laplace",
    "laplace:fill=none",
    "laplace:participation=released",
    "piecewise",
    "duchi",
    "hybrid",
    "matrix-factorization:profile=buckets",
    "matrix-factorization:rank=4",
    "matrix-factorization:rank=8",
    "matrix-factorization",
    "matrix-factorization:profile=rademacher",
    "matrix-factorization:variant=ridge",
    "matrix-factorization:variant=statistics",
)


def proven_share(specification, epsilon, seed):
    """Return what an audit proves over what is stated; that must hold."""
    _, maker = choose_mechanism(specification)
    mechanism = maker(domain=DEFAULT_DOMAIN, epsilon=epsilon)
    report = audit(mechanism, draws=DRAWS, random_state=seed)
    assert report.holds, str(report)
    return report.proven_epsilon / report.stated_epsilon


def printed_shares():
    """Return the figures of the page, by mechanism and epsilon."""
    lines = re.findall(r"^\| `([a-z0-9:=.-]+)` \|((?: [0-9.]+ \|){4})$", PAGE.read_text(), re.M)
    return {
        (name, epsilon): float(figure)
        for name, figures in lines
        for epsilon, figure in zip(EPSILONS, figures.strip(" |").split(" | "), strict=True)
    }


def main():
    for specification in SPECIFICATIONS:
        shares = [proven_share(specification, epsilon, 1) for epsilon in EPSILONS]
        print(f"| `{specification}` |" + "".join(f" {share:.2f} |" for share in shares), flush=True)


if __name__ == "__main__":
    main()
