"""Privacy losses of workers with one random weight for all reports."""

__all__: list[str] = []
