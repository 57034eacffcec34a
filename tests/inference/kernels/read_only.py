"""Arrays as those of answers are: a kernel that runs on them is compiled for both alike."""


def read_only(*arrays):
    """Return the arrays, which can no longer be written to."""
    for array in arrays:
        array.flags.writeable = False
    return arrays
