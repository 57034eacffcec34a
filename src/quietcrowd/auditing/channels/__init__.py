"""Attacks of an audit, one module for each kind of channel."""

__all__: list[str] = []
