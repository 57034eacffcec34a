"""MOON, Journal of Electronics & Information Technology, 2025."""
