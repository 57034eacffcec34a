"""Checks of ``research/docs/theory/memoisation.md``: prints its blocks, in order."""

import math

keep = math.e / (1 + math.e)
for m in (1, 3, 11, 21):
    right = sum(
        math.comb(m, agree) * keep**agree * (1 - keep) ** (m - agree)
        for agree in range(m // 2 + 1, m + 1)
    )
    print(m, "fresh reports:", f"{right:.1%}")


import tempfile
from pathlib import Path

import quietcrowd as qc
from quietcrowd.mechanisms import Memo

mechanism = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
campaign = {"mechanism": mechanism, "tasks": ["drug A", "drug B"], "campaign": "drugs"}
path = Path(tempfile.mkdtemp()) / "ann.memo"

memo = Memo.open(path, worker="ann", **campaign)  # once, before the first question
sent = {tuple(memo.report({"drug A": "yes"}).table.values) for _ in range(20)}
print(len(sent), "report in 20 times")
memo.destroy()  # when the campaign closes
print(path.exists())


mechanism = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
for copies in (1, 21):
    apart, shared = (
        mechanism.guarantee(answers=copies, linked=k).linked_epsilon for k in (copies, 1)
    )
    print(
        copies,
        "copies, loss with fresh noise:",
        round(apart, 2),
        "with one report:",
        round(shared, 2),
    )


for share in (0, 0.5, 0.9):
    sure = keep / (keep + (1 - share) * (1 - keep))
    print(
        f"{share:.0%} withdraw after a false yes: {sure:.1%}, a loss of {math.log(sure / (1 - sure)):.2f}"
    )
