"""What belongs to one paper: its figures, its baselines, its bounds. Nothing else needs it."""
