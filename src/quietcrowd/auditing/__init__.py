"""Audits of privacy guarantees by attacks on real reports."""

__all__: list[str] = []
