"""Privacy accounting: spent privacy, remaining budgets, and consent."""

__all__: list[str] = []
