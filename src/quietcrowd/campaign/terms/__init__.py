"""Configurations, names and limits that server and device share, without code of either side."""
