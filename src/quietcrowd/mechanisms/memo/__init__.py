"""Reports from a secret key: asked the same again, a device says the same again."""
