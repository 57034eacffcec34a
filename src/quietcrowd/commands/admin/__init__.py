"""Commands for the operator of a server, and for the keys of requesters."""
