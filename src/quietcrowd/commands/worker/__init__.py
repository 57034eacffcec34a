"""Commands for workers, on their devices."""
