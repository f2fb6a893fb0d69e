"""What can be wrong with an expression."""


class CalculatorError(Exception):
    """A fault at `position` (characters from 0) of the expression."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position

    def shown_in(self, text: str) -> str:
        """The message, the expression and a caret under the place of the fault."""
        return f"error: {self}\n  {text}\n  {' ' * self.position}^"
