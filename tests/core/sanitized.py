"""A plugin of pytest: tests run on the module in build/sanitize."""

import importlib.util
import sys
import sysconfig
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "sanitize"


def pytest_configure():
    """Load the module before any other file can import the installed one."""
    import quietcrowd

    path = FOLDER / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    spec = importlib.util.spec_from_file_location("quietcrowd._core", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["quietcrowd._core"] = quietcrowd._core = module
    spec.loader.exec_module(module)
