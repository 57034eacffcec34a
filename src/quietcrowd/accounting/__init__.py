"""What a worker has spent, may still spend, and agrees to. No mechanism knows of it."""

__all__: list[str] = []
