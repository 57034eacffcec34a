"""Channels by kind: what a device does to an answer."""
