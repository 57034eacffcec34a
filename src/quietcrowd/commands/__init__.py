"""The command line, one file per group of commands. Knows all rooms, and no room knows it."""
