"""The device side of a campaign, independent of the server code."""
