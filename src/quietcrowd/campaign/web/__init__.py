"""The pages of the service, for browsers: files of the package, as they are; and their hashes."""
