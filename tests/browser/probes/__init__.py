"""Functions of JavaScript that look at a page from within."""

from pathlib import Path


def probe(name: str) -> str:
    """The text of a function, to be evaluated on a page."""
    return (Path(__file__).parent / f"{name}.js").read_text()
