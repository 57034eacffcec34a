"""What a file contains, and the commands for the next step with it."""
