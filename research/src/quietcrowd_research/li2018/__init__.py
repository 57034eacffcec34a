"""Li et al., KDD 2018: the two-layer mechanism."""
