import numpy as np
import pandas as pd
from hypothesis import given

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.inference import MajorityVote
from quietcrowd.testing import crowds

DOMAIN = Categorical(["a", "b", "c"])


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
