"""Tables of means beside their standard errors."""

import pandas as pd

from quietcrowd_research.means import tell_means


def test_means_stand_beside_their_errors():
    frame = pd.DataFrame({"what": ["a"], "value": [0.5], "value_se": [0.01], "trials": [7]})
    table, sentence = tell_means(frame)
    assert table.to_dict("list") == {"what": ["a"], "value": ["0.500 ±0.010"]}
    assert "7 trials" in sentence
