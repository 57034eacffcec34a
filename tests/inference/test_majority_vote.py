import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import AnswerError
from quietcrowd.inference import MajorityVote
from quietcrowd.testing import crowds

DOMAIN = Categorical(["a", "b", "c"])


@pytest.mark.slow
@given(crowds(domain=DOMAIN))
def test_against_counting_by_hand(frame):
    truths = MajorityVote().fit(Answers.from_frame(frame, DOMAIN)).truths.set_index("task")
    for task, labels in frame.groupby("task")["label"]:
        counts = labels.value_counts()
        row = truths.loc[task]
        assert counts[row["truth"]] == counts.max()
        assert row["confidence"] == counts.max() / len(labels)
        assert row["tied"] == ((counts == counts.max()).sum() > 1)
        assert row["answers"] == len(labels)


@pytest.mark.slow
@given(crowds(domain=DOMAIN))
def test_agreement_counts_a_tie_as_a_share(frame):
    workers = MajorityVote().fit(Answers.from_frame(frame, DOMAIN)).workers.set_index("worker")
    shares = []
    for _, rows in frame.groupby("task"):
        counts = rows["label"].value_counts()
        winners = counts.index[counts == counts.max()]
        shares.append(rows.assign(share=rows["label"].isin(winners) / len(winners)))
    expected = pd.concat(shares).groupby("worker")["share"].mean()
    np.testing.assert_allclose(workers.loc[expected.index, "agreement"], expected, atol=1e-8)


@pytest.mark.parametrize(
    ("frame", "way_out"),
    [
        (
            {"task": [1], "performer": [1], "label": ["a"]},
            r"from_frame\(\.\.\., task=\.\.\., worker",
        ),
        ({"task": [1], "worker": [1], "answer": ["a"]}, r"from_frame\(\.\.\., task=\.\.\., worker"),
        ({"task": [1, 1], "worker": [1, 1], "label": ["a", "b"]}, r"from_frame\(.*duplicates="),
        ({"task": [1, 1], "worker": [1, 2], "label": ["a", None]}, r"from_frame\(.*out_of_domain="),
    ],
)
def test_advice_about_a_frame_is_what_can_be_done(frame, way_out):
    with pytest.raises(AnswerError, match=way_out) as error:
        MajorityVote().fit(pd.DataFrame(frame))
    assert "--" not in str(error.value)
