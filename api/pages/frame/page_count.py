"""How many pages a list has."""


def page_count(total: int, size: int) -> int:
    """The number of pages for so many rows, `size` a page; one at least, which may be empty."""
    return max(1, -(-total // size))
