"""Metrics of a running server: counted, withheld until a release, and published."""
