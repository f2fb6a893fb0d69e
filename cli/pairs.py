"""Options of the form NAME=VALUE."""

from collections.abc import Mapping, Sequence

from domain.errors import Invalid


def pairs(option: str, given: Sequence[str]) -> Mapping[str, str]:
    """`NAME=VALUE` taken apart; the last value of a name counts. Raises `Invalid`."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals):
            raise Invalid(f"{option} {text!r} is not NAME=VALUE; write it as `{option} NAME=VALUE`.")
        found[name.strip()] = value
    return found
