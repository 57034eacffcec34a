"""Contents of a file, and the commands for the next step with it."""
