"""Groups of workers with more agreement than the truths explain."""
