"""A value together with where it stands and what it is called: what every reader of a keyword is given."""

from collections.abc import Iterator
from dataclasses import dataclass

from domain.config.keywords import Vocabulary
from domain.config.reading.issues import Issues
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Items, Map, Place, Value


@dataclass(frozen=True, slots=True)
class Field:
    """One value of the configuration.

    `path` leads to it, as in `jobs:build:artifacts:paths`. `label` starts its messages: an entry is called by its path
    and `config`, an attribute by its entry's path and its own name, as in `jobs:build:artifacts expire in`
    (docs/reference/ci-yaml.md, "Messages").
    """

    value: Value
    path: str
    label: str
    place: Place
    issues: Issues

    def fault(self, text: str) -> None:
        """Note that something is wrong with this value; `text` continues the label."""
        self.issues.add(f"{self.label} {text}", self.path, self.place)

    def entry(self, key: str) -> "Field":
        """The value of a key that has a reader of its own. This value must be a mapping that has the key."""
        path = f"{self.path}:{key}" if self.path else key
        return self._child(key, path, f"{path} config")

    def attribute(self, key: str) -> "Field":
        """The value of a key that is checked as a part of this one."""
        return self._child(key, f"{self.path}:{key}", f"{self.path} {key.replace('_', ' ')}")

    def given(self, key: str) -> bool:
        """Whether the key is there and not null; a null means unset."""
        return isinstance(self.value, Map) and self.value.get(key) is not None

    def elements(self) -> Iterator["Field"]:
        """Every element of a list under this field's own name; of a single value, that value."""
        if not isinstance(self.value, Items):
            yield self
            return
        for value, place in zip(self.value, self.value.places, strict=True):
            yield Field(value, self.path, self.label, place, self.issues)

    def has_keys_of(self, vocabulary: Vocabulary) -> bool:
        """Whether this is a mapping; notes keys that are unknown, with the nearest right spelling."""
        if not isinstance(self.value, Map):
            self.fault("should be a hash")
            return False
        unknown = [key for key in self.value if key not in vocabulary]
        if unknown:
            place = self.value.places[unknown[0]]
            text = f"contains unknown keys: {', '.join(unknown)}{nearest(unknown, vocabulary)}"
            self.issues.add(f"{self.label} {text}", self.path, place)
        return True

    def missing(self, *keys: str) -> bool:
        """Whether some of these keys are not given; notes which."""
        absent = [key for key in keys if not self.given(key)]
        if absent:
            self.fault(f"missing required keys: {', '.join(absent)}")
        return bool(absent)

    def together(self, *keys: str) -> bool:
        """Whether more than one of these keys, which exclude each other, is given; notes which."""
        both = [key for key in keys if self.given(key)]
        if len(both) > 1:
            self.fault(f"these keys cannot be used together: {', '.join(both)}")
        return len(both) > 1

    def _child(self, key: str, path: str, label: str) -> "Field":
        assert isinstance(self.value, Map)
        return Field(self.value[key], path, label, self.value.places[key], self.issues)
