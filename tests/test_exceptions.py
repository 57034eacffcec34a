import inspect

from quietcrowd import exceptions


def test_the_tree_in_the_docstring_is_the_tree():
    drawn = [line for line in exceptions.__doc__.splitlines() if "──" in line]
    for name in exceptions.__all__:
        rows = [line for line in drawn if f"─ {name} " in f"{line} "]
        assert len(rows) == 1, f"{name} is drawn {len(rows)} times"
    assert len(drawn) == len(exceptions.__all__)


def test_every_error_is_ours_and_a_builtin_one_too():
    for name in exceptions.__all__:
        kind = getattr(exceptions, name)
        assert inspect.getdoc(kind)
        assert issubclass(kind, exceptions.QuietcrowdError | exceptions.QuietcrowdWarning)
