"""The trusted collector: claims in, synthetic claims out."""

__all__: list[str] = []
