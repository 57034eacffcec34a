"""Tables of experiments fit a terminal, and name every row."""

import json

import pandas as pd
import pytest

import quietcrowd as qc


@pytest.mark.slow
def test_evaluate_fits_80_columns_and_names_every_reference(run, folder, tmp_path):
    status, output, _ = run(
        *("evaluate", folder, "-e", "1,0.5", "--trials", 3),
        *("--method", "majority,weighted-vote:smoothing=3,weighted-vote"),
        *("--plot", tmp_path / "x.png", "-o", tmp_path / "x.csv"),
    )
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    for words in (
        "constant guess",
        "majority, not private",
        "weighted-vote, not private",
        "weighted-vote:smoothing=3, not private",
        "one-layer*",
    ):
        assert words in output
    assert (tmp_path / "x.png").stat().st_size > 10_000
    table = pd.read_csv(tmp_path / "x.csv")
    assert len(table) == 4 + 2 * 3 * 3
    assert set(table["method"]) == {
        *("constant", "majority", "weighted-vote", "weighted-vote:smoothing=3")
    }


def test_long_names_of_methods_fit_80_columns(run, ratings):
    crowd = qc.sparse_crowd(tasks=20, workers=15, sparsity=0.5, truths="uniform", seed=1)
    qc.write_table(crowd.truths, ratings / "truth.csv")
    description = {"kind": "ordinal", "domain": list(range(10))}
    (ratings / "dataset.json").write_text(json.dumps(description))
    long = "crh:loss=absolute:divisor=none:normaliser=max:per_answer=false"
    status, output, _ = run(
        *("evaluate", ratings, "-e", "2", "--trials", "2", "-m", "laplace:participation=released"),
        *("--method", f"mean,moon:variant=variance:solver=lagrange,{long}"),
    )
    assert status == 0
    lines = output.splitlines()
    assert max(map(len, lines)) <= 80
    references = lines[2 : lines.index("", 2)]
    assert len({line.rindex(".") for line in references if line[-1].isdigit()}) == 1
    assert "  moon:variant=variance:solver=lagrange, not private" in output
    assert "  :per_answer=false, not private" in output
    folded = [line.split()[0] for line in lines if line.startswith(" " * 10)]
    for part in (":solver=lagrange", ":divisor=none", ":normaliser=max", ":per_answer=false"):
        assert part in folded
