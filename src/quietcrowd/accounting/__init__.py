"""Privacy accounting: what workers have spent, may still spend, and agree to."""

__all__: list[str] = []
