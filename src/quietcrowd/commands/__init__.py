"""The command line, one file per group of commands. Imports from all folders; none imports it."""
