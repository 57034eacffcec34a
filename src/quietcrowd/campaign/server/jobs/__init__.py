"""Work in the background: inference and plans, each in a separate process."""
