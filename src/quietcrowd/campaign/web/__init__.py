"""The pages of the service: static files of the package, and their hashes."""
