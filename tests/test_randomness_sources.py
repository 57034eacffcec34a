"""Noise that protects somebody comes from the operating system's words.

Both packages are read: a file that calls a float generator, of NumPy or of Python, is in the list
below with the reason, or the test fails.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import quietcrowd
import quietcrowd_research

SOURCES = [Path(package.__file__).parent for package in (quietcrowd, quietcrowd_research)]

FLOATS = {
    *("beta", "binomial", "chisquare", "dirichlet", "exponential", "gamma", "geometric", "gumbel"),
    *("laplace", "logistic", "lognormal", "multinomial", "multivariate_normal", "normal", "pareto"),
    *("poisson", "power", "rand", "randn", "random", "random_sample", "ranf", "rayleigh", "sample"),
    *("standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal"),
    *("standard_t", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf", "gauss"),
    *("betavariate", "expovariate", "gammavariate", "normalvariate", "paretovariate"),
    *("lognormvariate", "weibullvariate", "vonmisesvariate"),
}
"""Names of methods and functions that draw floats, or numbers by way of floats."""

OWN_SAMPLERS = {"noise.sample", "channel.sample", "distribution.sample", "channel.noise.sample"}
"""Methods called `sample` that are ours: exact unless they are given a generator."""

SIMULATIONS = {
    "datasets/drawn.py": "makes synthetic crowds",
    "datasets/guessing_crowd.py": "makes synthetic crowds",
    "datasets/number_crowd.py": "makes synthetic crowds",
    "datasets/synthetic.py": "makes synthetic crowds",
    "inference/further_report.py": "plays out what further reports might be; reads reports alone",
    "mechanisms/channels/noise.py": "only where `rng` is given; see the test below",
    "planning/crowd_assumption.py": "makes synthetic crowds",
    "planning/pilot.py": "makes synthetic crowds, like that of a pilot",
    "testing/method_checks.py": "shuffles rows and chooses known truths, for the battery",
    "testing/mechanisms.py": "makes answers for the conformance battery",
    "quietcrowd_research/huai2019/density_methods.py": "non-private draws; demands a generator",
    "quietcrowd_research/moon2025/baselines.py": "stand-ins of other papers; demands a generator",
    "quietcrowd_research/sun2018/task_profiles.py": "simulates the noise of a printed mechanism",
}
"""Files that call float generators, and why none of these numbers protects anybody."""


def dotted(node):
    """Return ``a.b.c`` of an attribute, with ``()`` for what is no name."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "()"


def float_calls(tree):
    """Return what is called of the float generators, with its line."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [(node.lineno, dotted(node.func)) for node in calls]
    return [
        (line, name)
        for line, name in names
        if "." in name
        and name.split(".")[-1] in FLOATS
        and not any(name.endswith(own) for own in OWN_SAMPLERS)
    ]


def imports(tree):
    """Return the modules that a file imports, with what it takes of them."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@cache
def texts():
    """Return every module of both packages."""
    return {
        path.relative_to(source.parent).as_posix().removeprefix("quietcrowd/"): path.read_text()
        for source in SOURCES
        for path in source.rglob("*.py")
    }


def trees(spelling):
    """Return the modules in which something is spelt so, parsed: to parse all takes seconds."""
    return {name: ast.parse(text) for name, text in texts().items() if spelling.search(text)}


NAMES = re.compile(rf"\b(?:{'|'.join(sorted(FLOATS))})\b")
"""A call of a method is spelt by its name."""


@pytest.mark.slow
def test_float_generators_are_called_in_simulations_alone():
    calling = {name: calls for name, tree in trees(NAMES).items() if (calls := float_calls(tree))}
    unlisted = {name: calls for name, calls in calling.items() if name not in SIMULATIONS}
    assert not unlisted, "a float generator outside of the list of simulations"
    assert calling.keys() == SIMULATIONS.keys(), "the list names files that call none"


@pytest.mark.slow
def test_neither_pythons_random_nor_module_level_numpy_is_used():
    for name, tree in trees(re.compile(r"\brandom\b")).items():
        taken = imports(tree)
        assert not any(module.split(".")[0] == "random" for module in taken), name
        assert not any(module.startswith("numpy.random") for module in taken), name
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                path = dotted(node)
                assert not path.startswith("np.random.") or path in (
                    "np.random.Generator",
                    "np.random.default_rng",
                    "np.random.SeedSequence",
                ), f"{name}: {path}"


def test_the_scan_sees_what_it_is_for():
    text = "import numpy as np\nnoise = np.random.default_rng().laplace(0, 1)\nx = rng.normal()\n"
    assert [name for _, name in float_calls(ast.parse(text))] == ["().laplace", "rng.normal"]
    assert imports(ast.parse("import random\nfrom random import gauss")) == {
        *("random", "random.gauss")
    }


def test_noise_of_reports_draws_floats_only_where_a_generator_is_given():
    """Each such function starts from ``rng``, and takes the exact way without a generator."""
    functions = [
        node
        for node in ast.walk(ast.parse(texts()["mechanisms/channels/noise.py"]))
        if isinstance(node, ast.FunctionDef) and float_calls(node)
    ]
    assert functions
    for function in functions:
        assert "rng" in [argument.arg for argument in function.args.args]
        tests = [ast.unparse(node.test) for node in ast.walk(function) if isinstance(node, ast.If)]
        generator = "isinstance(rng, np.random.Generator)"
        assert {generator, f"not {generator}"} & set(tests)
        assert all(called.startswith("rng.") for _, called in float_calls(function))


def test_exact_ways_take_random_words():
    text = texts()["mechanisms/channels/noise.py"]
    assert "quietcrowd.mechanisms.randomness.word_source" in imports(ast.parse(text))
