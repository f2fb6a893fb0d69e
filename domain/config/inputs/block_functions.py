"""Functions of a block, as in `$[[ inputs.name | truncate(0,8) ]]`. Source: docs/reference/ci-yaml.md, "Inputs"."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Value
from domain.errors import Invalid

MAX_TEXT: Final = 1024 * 1024
"""Bytes of a value with blocks, before and after (docs/reference/ci-yaml.md, "Inputs")."""

_NAMES: Final = ("expand_vars", "posix_escape", "truncate")
_TRUNCATE: Final = re.compile(r"truncate\([ \t]*([0-9]{1,15})[ \t]*,[ \t]*([0-9]{1,15})[ \t]*\)?")
_VARIABLE: Final = re.compile(r"\$\$|%%|\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)\}|%([A-Za-z_]\w*)%", re.ASCII)
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_\-.,:+/@\n]")


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions; `get` knows the variables that `expand_vars` may use, `masked` names those it must not show."""

    get: Callable[[str], str | None]
    masked: frozenset[str]

    def apply(self, call: str, value: Value) -> Value:
        """The result of a call as it is written; raises `Invalid` for an unknown one and for a wrong value."""
        name = call.partition("(")[0].strip()
        cut = _TRUNCATE.fullmatch(call)
        if not cut and (name == "truncate" or call not in _NAMES):
            text = "check that the function name, arguments, and types are correct"
            raise Invalid(f"no function matching `{call}`: {text}{nearest([name], _NAMES) or _known()}")
        if not isinstance(value, str):
            raise Invalid(f"error in `{name}` function: invalid input type: {name} can only be used with string inputs")
        if cut:
            offset, length = int(cut[1]), int(cut[2])
            return value[offset : offset + length]
        return self._expanded(value) if name == "expand_vars" else posix_escaped(value)

    def _expanded(self, text: str) -> str:
        """Variables that are known in place of `$NAME`, `${NAME}` and `%NAME%`; the others stay."""
        parts: list[str] = []
        done = length = 0
        for match in _VARIABLE.finditer(text):
            name = match[1] or match[2] or match[3]
            if not name:
                continue
            if name in self.masked:
                raise Invalid(
                    "error in `expand_vars` function: variable expansion error: masked variables cannot be expanded; "
                    f"`{name}` is masked"
                )
            value = self.get(name)
            if value is not None:
                parts += text[done : match.start()], value
                length += match.start() - done + len(value)
                done = match.end()
            if length > MAX_TEXT:
                raise Invalid(f"error in `expand_vars` function: the result has more than {MAX_TEXT:,} bytes")
        return "".join((*parts, text[done:]))


def posix_escaped(text: str) -> str:
    """A text as one word of a POSIX shell."""
    return _UNSAFE.sub(r"\\\g<0>", text).replace("\n", "'\n'") if text else "''"


def _known() -> str:
    return f"; there are {', '.join(_NAMES)}"
