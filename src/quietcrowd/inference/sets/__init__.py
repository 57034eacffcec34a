"""Truth inference from reports that are sets of labels."""
