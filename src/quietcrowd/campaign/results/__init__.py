"""Inference from stored reports to stored results, and export to files. No routes."""
