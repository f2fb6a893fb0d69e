"""What a page is made of, as a parser of HTML sees it: elements and attributes that no page of ours has."""

from html.parser import HTMLParser
from typing import Final

_FOREIGN: Final = frozenset({"img", "iframe", "object", "embed", "style", "base"})


class _Faults(HTMLParser):
    """Collects what would be foreign markup."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note an element that nobody of ours writes."""
        values = dict(attributes)
        if tag in _FOREIGN or (tag == "script" and not (values.get("src") or "").startswith("/-/assets/")):
            self.found.append(f"<{tag}>")
        self.found += [f"{tag} {name}" for name in values if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action"):
            if (values.get(name) or "").lower().lstrip().startswith(("javascript:", "data:", "vbscript:")):
                self.found.append(f"{tag} {name}={values[name]}")


def foreign_markup(page: str) -> list[str]:
    """What a page holds that others must have put there: elements, attributes and addresses that run or draw."""
    faults = _Faults()
    faults.feed(page)
    return faults.found
