"""Truth inference where truths are numbers."""
