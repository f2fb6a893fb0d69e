"""How one input is declared, in `spec:inputs` or in a job's `inputs`. Source: docs/reference/ci-yaml.md, "Inputs"."""

from dataclasses import dataclass, field
from typing import Any, Final

from domain.config.inputs.input_condition import Condition
from domain.config.inputs.input_types import InputType, same, scalar_text, text_of, typed
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import NOWHERE, Items, Map, Place, Value
from domain.config.rules.patterns import Pattern, Patterns
from domain.errors import Invalid

JOB_INPUT: Final = frozenset({"default", "description", "options", "regex", "type"})
"""Keys of an item of a job's `inputs`."""
INPUT: Final = JOB_INPUT | {"rules"}
"""Keys of an item of `spec:inputs`."""
INPUT_RULE: Final = frozenset({"default", "if", "options"})
"""Keys of an item of `spec:inputs:rules`."""

MAX_SHOWN: Final = 100
"""Characters of a value in a message."""
MAX_OPTIONS: Final = 50
"""Values that `options` may list (docs/reference/ci-yaml.md, "Limits")."""


@dataclass(frozen=True, slots=True)
class InputRule:
    """What holds for an input if `condition` does; without one it always does. `options` None permits every value.

    `fault` is what is wrong with the default, which is None then.
    """

    condition: Condition | None
    options: tuple[Value, ...] | None
    default: Value
    place: Place
    fault: str = ""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One declared input.

    `required` is false if there is a default, also in `rules`; the default is of the type. `options` are None if any
    value will do. `pattern` is that of `regex`, and all of a configuration share `patterns`. An input with an error in
    its declaration is not `sound`, and what is given for it is not looked at.
    """

    name: str
    type: InputType = InputType.STRING
    required: bool = True
    default: Value = None
    options: tuple[Value, ...] | None = None
    pattern: Pattern | None = None
    description: str = ""
    rules: tuple[InputRule, ...] = ()
    place: Place = NOWHERE
    sound: bool = True
    patterns: Patterns = field(kw_only=True, repr=False, compare=False)

    def checked(self, value: Any, options: tuple[Value, ...] | None, source: str, place: Place) -> Value:
        """A value as the type wants it. `source` is `provided` or `default`.

        Raises `Invalid`, whose text continues "`name` input:", if type, options or regex forbid it.
        """
        try:
            found = typed(value, self.type, place)
        except Invalid as error:
            raise Invalid(f"{source} value {error}") from error
        if options is not None and not any(same(found, option) for option in options):
            text = f"`{shown(found)}` cannot be used because it is not in the list of allowed options"
            words = [shown(option) for option in options]
            raise Invalid(f"{text}: {listing(options)}{nearest([shown(found)], words)}")
        if self.pattern and isinstance(found, str) and not self.patterns.search(self.pattern, found):
            raise Invalid(f"{source} value does not match required RegEx pattern `{shown(self.pattern.text)}`")
        return found


def shown(value: Value) -> str:
    """A value as messages quote it: its beginning."""
    return (text_of(value, MAX_SHOWN) or "...") if isinstance(value, Map | Items) else scalar_text(value)[:MAX_SHOWN]


def listing(options: tuple[Value, ...]) -> str:
    """Options as messages list them."""
    return ", ".join(shown(option) for option in options)
