"""Truths that follow time: research/docs/theory/rounds.md."""
