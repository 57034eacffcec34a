"""Conformance checks of truth-inference methods."""

import json
from typing import Any

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.registry import METHODS, method_from_dict
from quietcrowd.mechanisms.label_mechanism import LabelMechanism
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.report_domains import Reals
from quietcrowd.testing.label_methods import check_label_method
from quietcrowd.testing.numeric_methods import check_numeric_method

SEED = 20_180_819


def check_method(
    method: FittingMethod, mechanism: type[Mechanism] | None = None, **parameters: Any
) -> None:
    """Check that a truth-inference method conforms; raise `AssertionError` if not.

    The checks cover row order, names, units, types of ids, ties, dataframe libraries, partitions,
    threads, warm starts and JSON.

    Parameters
    ----------
    method : FittingMethod
        The method to check.
    mechanism : type of Mechanism, optional
        Mechanism of the reports, for a method that cannot read non-private answers.
    **parameters
        Parameters of the mechanism.
    """

    def feed(answers: Answers) -> Any:
        if mechanism is None:
            return answers
        randomiser = mechanism.from_claimed_epsilon(domain=answers.domain, **parameters)
        return randomiser.simulate(answers, random_state=SEED)

    if METHODS.get(method.name) is type(method):
        assert method_from_dict(json.loads(json.dumps(method.to_dict()))) == method
    of_labels = mechanism is None or issubclass(mechanism, LabelMechanism)
    if method.infers_labels(Categorical(["no", "yes"]) if of_labels else Reals()):
        check_label_method(method, feed)
    else:
        check_numeric_method(method, feed, plain=mechanism is None)
