"""Numbers as Ruby's reader of YAML knows them, which is GitLab's. Source: docs/reference/ci-yaml.md, "YAML text"."""

import re
from typing import Final

_BASE_60: Final = re.compile(r"([-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2})(\.[0-9_]*)?", re.ASCII)
_GROUPED: Final = re.compile(r"[-+]?(?:0|[1-9](?:[0-9]|,[0-9]|_[0-9])*)(\.[0-9]*)?", re.ASCII)


def number_of_ruby(text: str) -> int | float | None:
    """The number that a plain text is, if it is one in base 60 or one with commas.

    `12:30` is 45,000: the first of two parts is hours, as it is of three (Psych, `ScalarScanner#tokenize`).
    """
    found = _BASE_60.fullmatch(text)
    if found:
        parts = text.replace("_", "").split(":")
        total = sum(float(part) * 60 ** (2 - position) for position, part in enumerate(parts))
        return total if found[2] else int(total)
    found = _GROUPED.fullmatch(text)
    if found and "," in text:
        plain = text.replace(",", "").replace("_", "")
        return float(plain) if found[1] else int(plain)
    return None
