"""Arrays as those of answers are."""


def read_only(*arrays):
    """Return the arrays, which can no longer be written to."""
    for array in arrays:
        array.flags.writeable = False
    return arrays
