"""A form that asks for a ref, inputs and variables, as it was sent or as an address fills it in."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Final, Literal, TypeAlias

from domain.config.form import FormField
from domain.errors import Invalid
from domain.variables.ci_variables import KEY

Kind: TypeAlias = Literal["env_var", "file"]
KINDS: Final[Mapping[Kind, str]] = {"env_var": "Variable", "file": "File"}
"""Types of variables, in words."""
_LINKED: Final[Mapping[str, Kind]] = {"var": "env_var", "file_var": "file"}
"""GitLab's names in addresses."""


@dataclass(frozen=True, slots=True)
class GivenVariable:
    """A variable as a row of a form gives it."""

    key: str
    value: str
    kind: Kind = "env_var"


@dataclass(frozen=True, slots=True)
class Filled:
    """The values of a form: fields of inputs by name, and variables in their order."""

    ref: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[GivenVariable, ...] = ()

    def value_of(self, one: FormField) -> str:
        """What stands in the field of an input."""
        return self.inputs.get(one.name, one.value)

    def settled(self, fields: Sequence[FormField]) -> "Filled":
        """The same where a choice that other inputs have ruled out since has become the default in force."""
        gone = {
            one.name: one.value
            for one in fields
            if one.depends and one.options and self.inputs.get(one.name, one.value) not in one.options
        }
        return replace(self, inputs={**self.inputs, **gone})

    def variable_of(self, one: FormField) -> GivenVariable:
        """What stands in the row of a described variable."""
        return next((row for row in self.variables if row.key == one.name), GivenVariable(one.name, one.value))

    def own(self, described: Sequence[FormField]) -> list[GivenVariable]:
        """Variables that the configuration does not describe."""
        known = {one.name for one in described}
        return [row for row in self.variables if row.key not in known]


def filled_of(values: Mapping[str, Any], ref: str = "") -> Filled:
    """What a form or an address gives (`api.v4.parameters`).

    `var[KEY]` and `file_var[KEY]` are GitLab's names in addresses; forms send rows of `keys[]`, `values[]`, `types[]`.
    """
    keys, texts, kinds = (_texts(values.get(name)) for name in ("keys", "values", "types"))
    rows = zip_longest(keys, texts[: len(keys)], kinds[: len(keys)], fillvalue="")
    sent = [GivenVariable(key.strip(), text, _kind(kind)) for key, text, kind in rows if key.strip()]
    linked = [
        GivenVariable(key, text, kind) for name, kind in _LINKED.items() for key, text in _entries(values.get(name))
    ]
    return Filled(str(values.get("ref") or ref), dict(_entries(values.get("inputs"))), (*linked, *sent))


def _kind(text: str) -> Kind:
    return "file" if text == "file" else "env_var"


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _entries(value: Any) -> list[tuple[str, str]]:
    return [(str(name), str(text)) for name, text in value.items()] if isinstance(value, dict) else []


def require_keys(variables: Collection[GivenVariable]) -> None:
    """Raise `Invalid` for the first variable that cannot be called so."""
    wrong = next((row.key for row in variables if not KEY.fullmatch(row.key)), None)
    if wrong is not None:
        raise Invalid(f"The variable {wrong[:100]!r} has no fit name: use letters, digits and '_', 255 at most.")
