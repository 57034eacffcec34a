"""A worker's side of a campaign: checks, draws, commits and sends. It knows nothing of a server."""
