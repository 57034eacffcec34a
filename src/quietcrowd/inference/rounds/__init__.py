"""Truths that follow time: docs/theory/rounds.md."""
