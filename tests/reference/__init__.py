"""What is compiled, and special functions: arrays in, arrays out. No method lives here."""
