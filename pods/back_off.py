"""How long to wait before something that has ended is started again."""


class BackOff:
    """How long to wait before a child is started again: 0, 1, 2, 4 ... 30 s; 0 again after 30 s of life."""

    def __init__(self, first: float = 1.0, most: float = 30.0, reset_after: float = 30.0) -> None:
        """All in seconds."""
        self._first = first
        self._most = most
        self._reset_after = reset_after
        self._next = 0.0

    def after(self, life: float) -> float:
        """The pause after a life of so many seconds."""
        pause = 0.0 if life >= self._reset_after else self._next
        self._next = min(max(self._first, 2 * pause), self._most)
        return pause
