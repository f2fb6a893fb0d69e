"""Lines of texts that others wrote."""


def lines_of(text: str) -> list[str]:
    r"""The lines of a text, which end at `\n` alone.

    Python's own also end at carriage returns, form feeds, U+0085, U+2028 and more: names of branches, values of
    variables and messages of people have them inside.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines
