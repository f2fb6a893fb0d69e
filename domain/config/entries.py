"""Keywords and what reads them: a table for those of a job, some of which may also stand in `default`."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from domain.config.keywords import WHEN
from domain.config.readers.artifacts import read_artifacts
from domain.config.readers.cache import read_caches
from domain.config.readers.coverage import read_coverage
from domain.config.readers.enterprise import read_dast_configuration, read_identity
from domain.config.readers.environment import read_environment
from domain.config.readers.hooks import read_hooks
from domain.config.readers.image import read_image
from domain.config.readers.inherit import read_inherit
from domain.config.readers.job_inputs import read_job_inputs
from domain.config.readers.needs import read_dependencies, read_needs
from domain.config.readers.pages import read_pages
from domain.config.readers.parallel import read_parallel
from domain.config.readers.recovery import read_allow_failure, read_retry
from domain.config.readers.release import read_release
from domain.config.readers.secrets import read_secrets
from domain.config.readers.services import read_services
from domain.config.readers.steps import read_steps
from domain.config.readers.tokens import read_id_tokens
from domain.config.readers.trigger import read_trigger
from domain.config.readers.variables import JOB_KEYS, read_variables
from domain.config.reading import checks
from domain.config.reading.durations import MONTH
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map, Value
from domain.config.rules.expression import Expressions
from domain.config.rules.filters import read_filter
from domain.config.rules.rules import RuleKind, read_rules

TAGS_LIMIT: Final = 50
"""A job has fewer tags than this (docs/reference/ci-yaml.md, "Limits")."""
MAX_TEXT: Final = 255
"""Characters of a resource group's key (docs/reference/ci-yaml.md, "Limits")."""


def _tags(entry: Field) -> tuple[str, ...] | None:
    tags = checks.strings(entry)
    if tags is not None and len(tags) >= TAGS_LIMIT:
        entry.fault(f"must be less than the limit of {TAGS_LIMIT} tags")
    return tags


Reader = Callable[[Field], object]

ENTRY_READERS: Final[Mapping[str, Reader]] = {
    "script": checks.commands,
    "before_script": checks.commands,
    "after_script": checks.commands,
    "run": read_steps,
    "trigger": read_trigger,
    "stage": checks.text,
    "variables": lambda entry: read_variables(entry, JOB_KEYS),
    "inherit": read_inherit,
    "needs": read_needs,
    "artifacts": read_artifacts,
    "cache": read_caches,
    "allow_failure": read_allow_failure,
    "tags": _tags,
    "image": read_image,
    "services": read_services,
    "parallel": read_parallel,
    "timeout": lambda entry: checks.duration(entry, MONTH),
    "retry": read_retry,
    "environment": read_environment,
    "release": read_release,
    "interruptible": checks.boolean,
    "pages": read_pages,
    "hooks": read_hooks,
    "id_tokens": read_id_tokens,
    "secrets": read_secrets,
    "identity": read_identity,
    "dast_configuration": read_dast_configuration,
}
"""Keywords that GitLab checks as entries of their own; those of `default` are among them.

Those with conditions and patterns are read by `Entries`, as all of a configuration share what was parsed.
"""

ATTRIBUTE_READERS: Final[Mapping[str, Reader]] = {
    "when": lambda attribute: checks.choice(attribute, WHEN),
    "dependencies": read_dependencies,
    "resource_group": lambda attribute: checks.short_text(attribute, MAX_TEXT),
    "manual_confirmation": checks.text,
    "publish": checks.text,
}
"""Keywords that GitLab checks as a part of the job."""


class Entries:
    """Reads the keywords of one configuration's jobs.

    Jobs that extend the same base share its values. Each value is read once: that is quick, and what is wrong with it
    is told once, at its one place in the text, and not again for every job.
    """

    def __init__(self, expressions: Expressions) -> None:
        """Nothing was read yet; `expressions` parses each condition of the configuration once."""
        self._read: dict[tuple[str, int], tuple[Value, object]] = {}
        self._readers: Mapping[str, Reader] = {
            **ENTRY_READERS,
            "rules": lambda entry: read_rules(entry, kind=RuleKind.JOB, expressions=expressions),
            "only": lambda entry: read_filter(entry, expressions),
            "except": lambda entry: read_filter(entry, expressions),
            "coverage": lambda entry: read_coverage(entry, expressions.patterns),
            "inputs": lambda entry: read_job_inputs(entry, expressions.patterns),
        }

    def read(self, config: Field) -> dict[str, Any]:
        """The value of every given keyword that has a reader; what could not be read is left out."""
        assert isinstance(config.value, Map)
        found: dict[str, Any] = {}
        for key, value in config.value.items():
            if value is None:
                continue
            entry = self._entry(config, key, value)
            if entry is not None:
                found[key] = entry
        return found

    def _entry(self, config: Field, key: str, value: Value) -> object:
        # The memory holds the value itself, or another one could come to stand at its address.
        if isinstance(value, Map | Items) and (key, id(value)) in self._read:
            return self._read[key, id(value)][1]
        if key in self._readers:
            entry = self._readers[key](config.entry(key))
        elif key in ATTRIBUTE_READERS:
            entry = ATTRIBUTE_READERS[key](config.attribute(key))
        else:
            return None
        if isinstance(value, Map | Items):
            self._read[key, id(value)] = (value, entry)
        return entry
