"""A whole campaign on this machine, with a crowd that is simulated and a server that is real."""

from quietcrowd.commands.demo.telling import play

__all__ = ["play"]
