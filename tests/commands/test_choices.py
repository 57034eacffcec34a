"""Methods with their parameters, as they are typed."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.removed_mechanism import SENTENCE

import quietcrowd as qc
from quietcrowd.commands.choices import METHODS as LISTED
from quietcrowd.commands.choices import OPTIONS_OF, choose_method
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import CRH, METHODS, MOON, WeightedMean


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("command", ["infer", "lab evaluate"])
@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("crh:", "parameters are written name:key=value:key=value; got 'crh:'"),
        ("crh:loss", "parameters are written name:key=value"),
        ("crh:loss=", "parameters are written name:key=value"),
        ("crh:=absolute", "parameters are written name:key=value"),
        ("crh::loss=absolute", "parameters are written name:key=value"),
        (":", "--method must be one of noise-aware, majority"),
        ("guess:loss=absolute", "--method must be one of noise-aware, majority"),
        ("crh:loss=absolute:loss=squared", "'loss' occurs twice"),
        ("crh:loss=far", "loss must be one of 'zero-one', 'squared', 'absolute'; got 'far'"),
        ("crh:per_answer=perhaps", "per_answer must be one of True, False; got 'perhaps'"),
        ("mooon:loss=absolute", "; got 'mooon'; did you mean 'moon'?"),
        ("moon:varient=variance", "; did you mean 'variant'?"),
        ("crh:lost=absolute", "crh has no parameter 'lost'; it has"),
        ("median:loss=absolute", "median has no parameter 'loss'; it has"),
        ("moon:alpha=true", "alpha must be a number from 1e-06 to 1e+06; got True"),
        ("moon:alpha=1e999", "alpha must be a number from 1e-06 to 1e+06; got inf"),
        ("gtm:prior_sd=none", "prior_sd must be a number from 0.01 to 100; got None"),
        ("noise-aware:prior=no=0.9/yes", "label=number, with %2F for a slash"),
        ("noise-aware:prior=no=0.9/no=0.1", " in a label; got 'no=0.9/no=0.1'"),
        ("noise-aware:prior=a=0.9/%61=0.1", " in a label; got 'a=0.9/%61=0.1'"),
        ("noise-aware:prior=no=a", "prior of 'no' must be a finite number, at least 0; got 'a'"),
        ("noise-aware:prior=no", "(on the command line: prior=no=0.9); got 'no'"),
        ("crh:loss=a=1", "loss must be"),
    ],
)
def test_bad_parameters_of_a_method_are_one_line(run, folder, command, method, message):
    plain = ["--non-private"] * (command == "infer")
    status, output, errors = run(*command.split(), folder, *plain, "--method", method)
    assert (status, output) == (2, "")
    assert errors.startswith("quietcrowd: error: ")
    assert message in errors
    assert errors.count("\n") == 1


def test_an_unknown_parameter_is_told_which_ones_there_are(run, folder):
    errors = run("infer", folder, "--non-private", "--method", "crh:frob=1")[2]
    assert errors.endswith("it has loss, tol, divisor, normaliser, per_answer\n")


def test_a_removed_mechanism_is_told_as_such(run):
    status, _, errors = run("lab", "audit", "sampled-variance:delta=0.1")
    assert status == 2
    assert SENTENCE in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(("key", "flag"), OPTIONS_OF.items())
def test_a_parameter_with_an_option_of_its_own_has_no_second_place(run, folder, key, flag):
    status, _, errors = run("infer", folder, "--non-private", "--method", f"majority:{key}=3")
    assert status == 2
    assert f"use {flag} to set '{key}'" in errors


@pytest.mark.parametrize("kind", METHODS.values(), ids=METHODS)
def test_a_method_with_its_defaults_written_out_is_the_method(kind):
    written = ":".join(f"{key}={value}" for key, value in attrs.asdict(kind()).items())
    assert choose_method(f"{kind.name}:{written}") == kind()


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("crh:loss=zero-one:per_answer=FALSE", CRH(loss="zero-one", per_answer=False)),
        ("crh:divisor=none", CRH(divisor=None)),
        ("dawid-skene:one_coin=true:trust=0", qc.DawidSkene(one_coin=True, trust=0)),
        ("moon:variant=variance:alpha=1e-3", MOON(variant="variance", alpha=0.001)),
        ("weighted-mean:smoothing=1e30", WeightedMean(smoothing=1e30)),
        ("noise-aware:prior=no=0.9/yes=0.1", qc.NoiseAware(prior={"no": 0.9, "yes": 0.1})),
        ("noise-aware:prior=a=b=1e-2", qc.NoiseAware(prior={"a=b": 0.01})),
        ("noise-aware:prior=a%2Fb=0.2/c%3a%25=0.5", qc.NoiseAware(prior={"a/b": 0.2, "c:%": 0.5})),
        ("noise-aware:prior=100%=0.2", qc.NoiseAware(prior={"100%": 0.2})),
    ],
)
def test_parameters_are_numbers_booleans_none_and_words(text, method):
    assert choose_method(text, random_state=None) == method


def test_numbers_that_floats_skip_are_no_ints():
    assert isinstance(choose_method("weighted-mean:smoothing=1e30").smoothing, float)


PIECES = ["crh", "moon", ":", "=", "loss", "absolute", "tol", "1", "-2", "none", "true", " é"]
PIECES += ["/", "prior"]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=20))
def test_whatever_is_typed_is_a_method_or_a_parameter_error(text):
    try:
        method = choose_method(text)
    except ParameterError:
        return
    assert method.name == text.split(":")[0]


def test_methods_and_parameters_of_their_own():
    fields = {name: list(attrs.fields_dict(kind)) for name, kind in METHODS.items()}
    shared = set.intersection(*map(set, fields.values()))
    own = {name: ", ".join(k for k in keys if k not in shared) for name, keys in fields.items()}
    assert list(LISTED.items()) == list(own.items())
