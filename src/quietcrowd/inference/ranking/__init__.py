"""Rankings of items from paired comparisons."""
