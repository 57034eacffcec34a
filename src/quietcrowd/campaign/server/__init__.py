"""The campaign server: routes, middleware and background threads."""
