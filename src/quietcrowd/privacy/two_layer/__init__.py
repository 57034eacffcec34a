"""Privacy losses of workers whose reports share one random weight."""

__all__: list[str] = []
