"""Checks of ``research/docs/theory/optimal-channel.md``: prints its blocks, in order."""

import quietcrowd as qc
from quietcrowd.mechanisms import OptimalMechanism

domain = qc.Categorical(["none", "one", "several"])
prior = {"none": 0.8, "one": 0.1, "several": 0.1}
for apart in (0.0, 0.5):
    best = OptimalMechanism(domain=domain, epsilon=1.0, prior=prior, apart=apart)
    print(f"apart={apart:g} keeps {best.information_kept:.2%}")
    print(best.channel.probabilities.round(3))
response = qc.RandomizedResponse(domain=domain, epsilon=1.0)
same = OptimalMechanism(domain=domain, epsilon=1.0, prior=prior, weights=response.channel.weights)
print(f"randomized response keeps {same.information_kept:.2%}")


def sizes(k, epsilon):
    weights = OptimalMechanism(domain=qc.Ordinal(range(k)), epsilon=epsilon).channel.weights
    return sorted(set((weights > weights.min(axis=0)).sum(axis=0).tolist())), weights.shape[1]


for k, epsilon in ((3, 0.5), (5, 0.5), (5, 2.0), (8, 1.0), (10, 0.5), (10, 4.0)):
    print(
        f"{k:2d} labels, epsilon {epsilon}: sets of {sizes(k, epsilon)[0]}, {sizes(k, epsilon)[1]} columns"
    )

two = OptimalMechanism(domain=qc.Categorical(["no", "yes"]), epsilon=1.0, prior={"no": 0.95})
response = qc.RandomizedResponse(domain=two.domain, epsilon=1.0)
assert sorted(two.channel.weights.T.tolist()) == sorted(response.channel.weights.T.tolist())


worst = 0.0
for k in (2, 3, 6):
    for epsilon in (0.01, 0.5, 1.0, 5.0, 10.0):
        mechanism = OptimalMechanism(domain=qc.Ordinal(range(k)), epsilon=epsilon, prior={0: 0.6})
        exact = mechanism.guarantee().epsilon
        assert exact <= epsilon
        worst = max(worst, 1 - exact / epsilon)
assert worst < 1e-5
