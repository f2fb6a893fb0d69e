"""`trigger`: the downstream pipeline of a bridge.

Source: docs/reference/ci-yaml.md, "Includes", "Limits"; docs/reference/pipelines.md, "Downstream pipelines".
"""

from collections.abc import Iterator
from typing import Final

from domain.config.keywords import FORWARD, TRIGGER, Vocabulary
from domain.config.plan import Document, Trigger
from domain.config.reading import checks
from domain.config.reading.documents import mapping, plain
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map

STRATEGIES: Final = ("depend", "mirror")
"""Values of `trigger:strategy`."""
MAX_INCLUDES: Final = 3
"""Files of one child pipeline."""
OF_PROJECT: Final = ("project", "branch")
"""Keys of `trigger` that name another project, which a child pipeline has not."""
KINDS: Final = ("local", "project", "remote", "template", "component", "artifact")
"""Keys of an item of `trigger:include` of which there must be exactly one."""
INCLUDE: Final[Vocabulary] = frozenset({*KINDS, "file", "ref", "job", "inputs", "rules", "integrity", "cache"})
"""Keys of an item of `trigger:include`."""
BELONGS: Final = {
    "project": ("file", "must specify the file where to fetch the config from"),
    "artifact": ("job", "must specify the job where to fetch the artifact from"),
}
"""What else a kind of include must have, and what is said if it has not."""


def read_trigger(field: Field) -> Trigger | None:
    """The path of a project, or a mapping with one or with the files of a child pipeline."""
    if isinstance(field.value, str):
        project = checks.filled_text(field)
        return None if project is None else Trigger(project)
    if not isinstance(field.value, Map):
        field.fault("has to be either a string or a hash")
        return None
    if not field.value:
        field.fault("can't be blank")
        return None
    field.has_keys_of(TRIGGER)
    is_child = field.given("include")
    forward = field.entry("forward") if field.given("forward") else None
    if forward and not forward.has_keys_of(FORWARD):
        forward = None
    if is_child:
        _check_child(field)
    return Trigger(
        project="" if is_child else checks.required_text(field, "project") or "",
        branch=checks.optional_text(field, "branch"),
        include=tuple(_includes(field.entry("include"))) if is_child else (),
        strategy=_strategy(field),
        inputs=(mapping(field.attribute("inputs")) if field.given("inputs") else None) or {},
        forward_yaml_variables=checks.flag(forward, "yaml_variables", default=True) if forward else True,
        forward_pipeline_variables=checks.flag(forward, "pipeline_variables") if forward else False,
    )


def _check_child(field: Field) -> None:
    """A child pipeline is one of the same project and commit."""
    others = [key for key in OF_PROJECT if field.given(key)]
    if others:
        field.fault(f"contains unknown keys: {', '.join(others)}; with `include` it is a pipeline of this project")
    if field.given("inputs"):
        field.fault("contains unknown keys: inputs; with `include` write them into the item of `include`")


def _strategy(field: Field) -> str:
    if not field.given("strategy"):
        return ""
    return checks.choice(field.attribute("strategy"), STRATEGIES, f"should be {' or '.join(STRATEGIES)}") or ""


def _includes(field: Field) -> Iterator[Document]:
    """Every file that makes up the child pipeline's configuration; a lone text is a local file or an address."""
    if not isinstance(field.value, str | Items):
        field.fault("should be an array or a string")
        return
    if isinstance(field.value, Items) and len(field.value) > MAX_INCLUDES:
        field.fault(f"is too long (maximum is {MAX_INCLUDES})")
    if not field.value:
        field.fault("can't be blank")
        return
    path = f"{field.path}:include" if isinstance(field.value, Items) else field.path
    for element in field.elements():
        item = _include(Field(element.value, path, f"{path} config", element.place, field.issues))
        if item is not None:
            yield item


def _include(field: Field) -> Document | None:
    if isinstance(field.value, str):
        location = checks.filled_text(field)
        is_remote = field.value.startswith(("https://", "http://"))
        return None if location is None else {"remote" if is_remote else "local": location}
    if not isinstance(field.value, Map):
        field.fault("should be a hash or a string")
        return None
    field.has_keys_of(INCLUDE)
    kinds = [kind for kind in KINDS if field.given(kind)]
    if len(kinds) != 1:
        message = f"{field.path} Each include must use only one of: {', '.join(KINDS)}"
        field.issues.add(message, field.path, field.place)
        return None
    _check_kind(field, kinds[0])
    document: Document = plain(field)
    return document


def _check_kind(field: Field, kind: str) -> None:
    """What belongs to an include of this kind is there, and is text."""
    checks.filled_text(field.attribute(kind))
    partner, said = BELONGS.get(kind, ("", ""))
    if partner and not field.given(partner):
        field.fault(said)
    for key in ("job", "ref"):
        if field.given(key):
            checks.filled_text(field.attribute(key))
    if field.given("file"):
        checks.strings_or_string(field.attribute("file"))
    if field.given("inputs") and not isinstance(field.attribute("inputs").value, Map):
        field.attribute("inputs").fault("should be a hash")
    rules = field.attribute("rules") if field.given("rules") else None
    if rules and not (isinstance(rules.value, Items) and all(isinstance(rule, Map) for rule in rules.value)):
        rules.fault("should be an array of hashes")
