"""The tables of a server, and what is written into them. No routes, no inference."""
