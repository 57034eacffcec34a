"""Claims put to the test: attacks on real reports, and bounds that are proved. Nothing of a device.

The room is not called ``audit``: that is the function.
"""

__all__: list[str] = []
