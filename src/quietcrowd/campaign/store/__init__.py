"""Tables of a server's database and the code that uses them, without routes or inference."""
