"""Truth inference where truths are labels."""
