"""Numbers of a running server, for whoever runs it: counted, held back, published."""
