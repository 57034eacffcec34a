"""Write the values that ``quietcrowd reproduce --quick`` compares with.

``python -m research.tests.write_quick_values [TRIALS] [FIGURE ...]``, with the real data
sets. Values of other figures than those that are named stay as they are.
"""

import sys

import pandas as pd

from quietcrowd.formats.files import replacing
from quietcrowd_research.figures import FIGURES
from quietcrowd_research.quick import STORED, quick_values


def main(trials: int, names: list[str]) -> None:
    """Run figures in small with many trials, and store what they give."""
    old = pd.read_csv(STORED) if STORED.exists() else pd.DataFrame(columns=["figure"])
    kept = {str(name): rows for name, rows in old.groupby("figure", sort=False)}
    for name in names:
        if FIGURES[name].quick is not None:
            kept[name] = quick_values(name, FIGURES[name], trials=trials)
            print(f"{name}: {len(kept[name])} values", flush=True)
    rows = [kept[name] for name in FIGURES if name in kept]
    with replacing(STORED) as temporary:
        pd.concat(rows).to_csv(temporary, index=False, float_format="%.9g")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60, sys.argv[2:] or list(FIGURES))
