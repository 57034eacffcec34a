"""Claims put to the test: attacks on real reports, and bounds that are proved.

Knows mechanisms, and nobody on a worker's device needs it. Not ``audit``: that is the function.
"""
