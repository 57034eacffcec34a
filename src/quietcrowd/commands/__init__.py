"""Command line, with one module per group of commands; no other package imports it."""
