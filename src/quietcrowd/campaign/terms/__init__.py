"""What both sides of a campaign agree on: configurations, names, limits. It knows neither side."""
