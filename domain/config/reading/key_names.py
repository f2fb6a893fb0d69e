"""Names of steps, of their inputs and outputs, and of variables of their environment.

Source: docs/reference/steps.md, "Step files".
"""

import re
from typing import Final

from domain.config.reading.field import Field
from domain.config.reading.tree import Map

NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
RULE: Final = "names are letters, digits and '_', and start with no digit"
"""Said of a name that is none."""


def is_name(text: str) -> bool:
    """Whether this may be a name."""
    return NAME.fullmatch(text) is not None


def check_names(field: Field) -> bool:
    """Whether this is a mapping whose keys are names; notes what is wrong."""
    if not isinstance(field.value, Map):
        field.fault("should be a hash")
        return False
    wrong = [key for key in field.value if not is_name(key)]
    if wrong:
        text = f"contains unknown keys: {', '.join(wrong)}; {RULE}"
        field.issues.add(f"{field.label} {text}", field.path, field.value.places[wrong[0]])
    return not wrong
