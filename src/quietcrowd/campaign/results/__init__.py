"""From stored reports to stored results, and out again as files. No routes."""
