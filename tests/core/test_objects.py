"""Code for one instruction set is never merged with that for another one."""

import shutil
from pathlib import Path

import pytest
from tests.programs import finished

BUILDS = Path(__file__).parents[2] / "build" / "core"
OBJECTS = sorted(BUILDS.glob("*/CMakeFiles/x86_64_v*.dir/**/*.o"))


pytestmark = [
    pytest.mark.skipif(not OBJECTS, reason="build/core has no objects of x86-64: run make core"),
    pytest.mark.skipif(shutil.which("nm") is None, reason="nm is missing: install binutils"),
]

OUTSIDE = {"calloc", "free", "malloc", "memcpy", "memmove", "memset", "floor", "rint", "sqrt"}
"""What kernels call of the C library: nothing that rounds in one way here and in another there."""


@pytest.mark.nightly
def test_no_kernel_calls_a_function_that_rounds_otherwise_on_other_machines():
    for path in OBJECTS:
        listed = finished("nm", "--undefined-only", path, check=True)
        names = {line.split()[1] for line in listed.output.splitlines()}
        plain = {name for name in names if not name.startswith("_")}
        assert plain <= OUTSIDE, path


@pytest.mark.nightly
def test_every_symbol_has_the_name_of_its_instruction_set():
    """The linker keeps one of several weak functions of a name, maybe one with AVX-512."""
    for path in OBJECTS:
        (variant,) = (part.removesuffix(".dir") for part in path.parts if part.endswith(".dir"))
        listed = finished("nm", "--demangle", "--defined-only", "--extern-only", path, check=True)
        symbols = [line.split(maxsplit=2)[1:] for line in listed.output.splitlines()]
        assert symbols, path
        strange = [
            f"{kind} {name}"
            for kind, name in symbols
            if variant not in name and is_shared(kind, name)
        ]
        assert not strange, f"{path.name} of {variant} defines {', '.join(strange)}"


def is_shared(kind, name):
    """Return whether a symbol may have code; what an exception is called has none."""
    return not (kind == "V" and name.startswith(("typeinfo", "DW.ref.")))
