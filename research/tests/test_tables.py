"""Tables of figures fit a terminal, and name every row."""

import pandas as pd

from quietcrowd_research.figure import FigureResult
from quietcrowd_research.figures import FIGURES
from quietcrowd_research.tables import UNLISTED, print_figure


def test_rows_of_a_figure_that_no_method_names_are_told(capsys):
    figure = FIGURES["moon2025-3-drawn"]
    row = {"dataset": "d", "mechanism": "laplace", "claimed_epsilon": 1.0, "trials": 2}
    row |= {figure.scores[0]: 1.0, f"{figure.scores[0]}_se": 0.1}
    names = ("mean", "tesla-like", "privtdsi-like, moon", "every sigma known")
    rows = [row | {"method": name} for name in names]
    rows.append(row | {"mechanism": "none", "method": "constant"})
    for count, told in ((1, 0), (4, 3)):
        frame = pd.DataFrame([*rows[:count], rows[-1]])
        print_figure(FigureResult(figure=figure, frame=frame, skipped=()))
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        begun = [line for line in lines if line.startswith(tuple(f"{n}: " for n in UNLISTED))]
        assert len(begun) == told
