"""Commands as attrs classes: fields are options, and base classes are groups of options."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar, dataclass_transform, get_type_hints

import typer
from attrs import NOTHING, Attribute, field, fields, fields_dict, frozen
from typer.core import TyperCommand
from typer.main import get_command

C = TypeVar("C")


def option(*names: str, help: str, default: Any = NOTHING, **settings: Any) -> Any:  # noqa: A002
    """Declare a field as an option; `settings` are those of `typer.Option`.

    Its name on the command line is that of the field, unless `names` are given.
    """
    metadata = {"info": typer.Option, "names": names, "settings": {"help": help, **settings}}
    return field(default=default, metadata=metadata)


def argument(*, help: str, default: Any = NOTHING, **settings: Any) -> Any:  # noqa: A002
    """Declare a field as an argument; `settings` are those of `typer.Argument`."""
    metadata = {"info": typer.Argument, "settings": {"help": help, **settings}}
    return field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def option_group(title: str | None = None) -> Callable[[type[C]], type[C]]:
    """Declare a base class of commands; the help shows its options under a title."""
    return _declared(group_title=title)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def command(*, epilog: str | None = None) -> Callable[[type[C]], type[C]]:
    """Declare a command: its docstring is the help, and its method `run` the body."""
    return _declared(epilog=epilog)


def _declared(**attributes: Any) -> Callable[[type[C]], type[C]]:
    def declare(declared: type[C]) -> type[C]:
        for name, value in attributes.items():
            setattr(declared, name, value)
        return frozen(kw_only=True, slots=False, eq=False, repr=False)(declared)

    return declare


def option_names(declared: type[Any]) -> dict[str, str]:
    """Return the options of a command or a group by the names of its fields."""
    options = (one for one in fields(declared) if one.metadata["info"] is typer.Option)
    return {one.name: _flags(one)[0] for one in options}


def given_options(command: Any, names: Iterable[str]) -> list[str]:
    """Return which options of these fields differ from their defaults."""
    known = fields_dict(type(command))
    given = [
        name for name in names if getattr(command, name) not in (known[name].default, None, [])
    ]
    return [_flags(known[name])[0] for name in given]


def command_line(command: Any, name: str, **changed: Any) -> str:
    """Return the line of a shell that runs a command again with `changed` fields, without a key."""
    words: list[str] = ["quietcrowd", *name.split()]
    last: list[str] = []  # arguments that look like options come after --
    own = inspect.get_annotations(type(command))
    order = sorted(fields(type(command)), key=lambda one: one.name not in own)
    for one in order:  # the command's own fields before those of its bases
        value = changed.get(one.name, getattr(command, one.name))
        if one.metadata["info"] is typer.Argument:
            (last if str(value).startswith("-") else words).append(str(value))
        elif one.name != "secret" and value not in (one.default, None, []):
            flag, _, off = _flags(one)[0].partition("/")
            several = value if isinstance(value, list) else [value]
            texts = [] if isinstance(value, bool) else [",".join(map(_written, several))]
            words += [off if value is False else flag, *texts]
    return shlex.join([*words, "--", *last] if last else words)


def _written(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _flags(one: Attribute[Any]) -> tuple[str, ...]:
    return one.metadata["names"] or (f"--{one.name.replace('_', '-')}",)


def as_command(declared: type[Any], name: str) -> TyperCommand:
    """Return a declared command under a name."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=_TitledOptions, epilog=declared.epilog)(_as_function(declared))
    return get_command(app)  # type: ignore[return-value]


def _as_function(declared: type[Any]) -> Callable[..., None]:

    def call(**values: Any) -> None:
        declared(**values).run()

    hints = get_type_hints(declared)
    places = list(declared.__mro__)
    owners = {name: owner for owner in reversed(places) for name in inspect.get_annotations(owner)}
    arguments = [one for one in fields(declared) if one.metadata["info"] is typer.Argument]
    options = [one for one in fields(declared) if one.metadata["info"] is typer.Option]
    options.sort(key=lambda one: places.index(owners[one.name]))  # those of bases last
    parameters = [_parameter(one, hints[one.name], owners[one.name]) for one in arguments + options]
    call.__doc__ = declared.__doc__
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _parameter(one: Attribute[Any], hint: Any, owner: type[Any]) -> inspect.Parameter:
    settings = dict(one.metadata["settings"])
    names: tuple[str, ...] = ()
    if one.metadata["info"] is typer.Option:
        names = _flags(one)
        settings["rich_help_panel"] = vars(owner).get("group_title")
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[hint, one.metadata["info"](*names, **settings)],
        default=inspect.Parameter.empty if one.default is NOTHING else one.default,
    )


class _TitledOptions(TyperCommand):
    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                title = getattr(parameter, "rich_help_panel", None)
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections.setdefault(title or usual, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
