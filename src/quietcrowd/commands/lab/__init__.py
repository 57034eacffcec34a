"""Commands for experiments, audits and polls."""
