"""Sun et al., IEEE Big Data 2018: sparse answers."""
