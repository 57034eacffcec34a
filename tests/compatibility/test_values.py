"""Estimates, guarantees, losses, audits and releases are those of an earlier version."""

import pytest
from tests.compatibility.files import read_json
from tests.compatibility.inferring import estimates
from tests.compatibility.spelling import difference
from tests.compatibility.stating import statements
from tests.compatibility.write import WRITTEN

KINDS = {"estimates": estimates, "statements": statements}


def _groups():
    return sorted(
        {
            (kind, "/".join(name.split("/")[: 2 if kind == "estimates" else 1]))
            for kind, cases in KINDS.items()
            for name, _ in cases(WRITTEN)
        }
    )


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "group"), _groups())
def test_the_values_are_the_same(kind, group):
    kept = read_json(WRITTEN / f"{kind}.json.gz")
    for name, compute in KINDS[kind](WRITTEN):
        if f"{name}/".startswith(f"{group}/"):
            then = kept[name]
            found = difference(then["value"], compute(), exact=then["exact"], place=name)
            assert found is None, found


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_that_was_kept_is_computed(kind):
    assert read_json(WRITTEN / f"{kind}.json.gz").keys() == {n for n, _ in KINDS[kind](WRITTEN)}
