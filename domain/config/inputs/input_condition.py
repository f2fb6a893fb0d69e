"""The `if` of a rule of an input: an expression about other inputs.

Source: docs/reference/ci-yaml.md, "Inputs", "Expressions".
"""

from collections.abc import Callable, Collection
from typing import Any, Final

from domain.config.inputs.blocks import Block, blocks_of
from domain.config.inputs.input_types import scalar_text
from domain.config.rules.expression import parse
from domain.config.rules.expression_tokens import SYNTAX
from domain.config.rules.patterns import Patterns
from domain.errors import Invalid

_CONTEXT: Final = "inputs."
_WORDS: Final = {None: "null", True: "true", False: "false"}


class Condition:
    """An expression in which blocks `$[[ inputs.name ]]` stand for the values of inputs."""

    def __init__(self, text: str, patterns: Patterns) -> None:
        """Read an expression; raises `Invalid` if it is none or has a block that names no input."""
        self._text = text
        self._patterns = patterns
        self._blocks = tuple(blocks_of(text))
        self._variables = {_name(block): f"_{number}" for number, block in enumerate(self._blocks)}
        try:
            known = parse(self._written({}), patterns).names
        except Invalid as error:
            raise Invalid(self._with_blocks(str(error))) from None
        self.quoted = tuple(name for name, variable in self._variables.items() if variable not in known)
        """Inputs whose blocks stand in quotes: there they are text."""
        self._blocks = tuple(block for block in self._blocks if _name(block) not in self.quoted)
        for name in self.quoted:
            del self._variables[name]

    @property
    def inputs(self) -> Collection[str]:
        """The names of the inputs it asks for."""
        return self._variables.keys()

    def holds(self, get: Callable[[str], Any]) -> bool:
        """Whether it is true for these values of inputs; those that are no scalars are null.

        Raises `Invalid` when the patterns of the configuration have searched more text than they may.
        """
        values = {name: get(name) for name in self._variables}
        words = {name: _WORDS[value] for name, value in values.items() if value is None or isinstance(value, bool)}
        words |= {name: "null" for name, value in values.items() if isinstance(value, dict | list)}
        texts = {
            self._variables[name]: value if isinstance(value, int | float) else scalar_text(value)
            for name, value in values.items()
            if name not in words
        }
        return parse(self._written(words), self._patterns).evaluate(texts.get)

    def _written(self, words: dict[str, str]) -> str:
        """The expression with a word or a variable for each block, which keep the places of all else."""
        parts: list[str] = []
        position = 0
        for block in self._blocks:
            name = _name(block)
            word = words.get(name) or f"${self._variables[name]}"
            parts += self._text[position : block.start], word.ljust(block.end - block.start)
            position = block.end
        return "".join((*parts, self._text[position:]))

    def _with_blocks(self, message: str) -> str:
        """A message of the parser about the expression as it was written."""
        for name, variable in self._variables.items():
            message = message.replace(f"`${variable}`", f"`$[[ {_CONTEXT}{name} ]]`")
        return message


def _name(block: Block) -> str:
    name = block.expression.removeprefix(_CONTEXT)
    if name == block.expression:
        raise Invalid(f"{SYNTAX}: `{block.expression}` is no input; write $[[ inputs.name ]]")
    return name
