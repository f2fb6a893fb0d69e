"""Reading the declaration of an input. Source: docs/reference/ci-yaml.md, "Inputs"."""

from dataclasses import replace

from domain.config.inputs.input_condition import Condition
from domain.config.inputs.input_spec import INPUT_RULE, MAX_OPTIONS, InputRule, InputSpec, listing, shown
from domain.config.inputs.input_types import InputType, same, scalar_text
from domain.config.keywords import Vocabulary
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Items, Map, Place, Value
from domain.config.rules.expression_tokens import SYNTAX
from domain.config.rules.patterns import Pattern, Patterns
from domain.errors import Invalid


def read_input(field: Field, name: str, vocabulary: Vocabulary, label: str, patterns: Patterns) -> InputSpec:
    """A declaration: nothing, or a mapping with keys of the vocabulary. `label` starts messages about values."""
    if field.value is None:
        return InputSpec(name, place=field.place, patterns=patterns)
    before = len(field.issues)
    if not field.has_keys_of(vocabulary) or not isinstance(field.value, Map):
        return InputSpec(name, place=field.place, sound=False, patterns=patterns)
    if "rules" in vocabulary:
        field.together("rules", "options")
        field.together("rules", "default")
    kind = _kind(field)
    reader = _Values(field, label, patterns)
    spec = InputSpec(
        name=name,
        type=kind,
        required="default" not in field.value and not field.given("rules"),
        options=reader.options(kind),
        pattern=reader.pattern(kind),
        description=_description(field),
        place=field.place,
        sound=False,
        patterns=patterns,
    )
    if len(field.issues) > before:
        return spec
    default = reader.default(spec, field.value, spec.options)
    rules = reader.rules(spec) if field.given("rules") else ()
    return replace(spec, default=default, rules=rules, sound=len(field.issues) == before)


def _attribute(field: Field, key: str) -> Field:
    """An attribute of an input, which GitLab calls by both words."""
    assert isinstance(field.value, Map)
    label = f"{field.path} input {key}"
    return Field(field.value[key], f"{field.path}:{key}", label, field.value.places[key], field.issues)


def _kind(field: Field) -> InputType:
    if not field.given("type"):
        return InputType.STRING
    kind = _attribute(field, "type")
    if isinstance(kind.value, str) and kind.value in InputType.__members__.values():
        return InputType(kind.value)
    word = shown(kind.value)
    kind.fault(f"unknown value: {word}; the types are {', '.join(InputType)}{nearest([word], list(InputType))}")
    return InputType.STRING


def _description(field: Field) -> str:
    if not field.given("description"):
        return ""
    description = _attribute(field, "description")
    if isinstance(description.value, Map | Items):
        description.fault("must be an alphanumeric string")
        return ""
    return scalar_text(description.value)


class _Values:
    """Reads what a declaration says about values; messages are "`name` input: ..."."""

    def __init__(self, field: Field, label: str, patterns: Patterns) -> None:
        self._field = field
        self._label = label
        self._patterns = patterns

    def options(self, kind: InputType) -> tuple[Value, ...] | None:
        """The values that are permitted."""
        if not self._field.given("options"):
            return None
        options = _attribute(self._field, "options")
        if kind not in (InputType.STRING, InputType.NUMBER):
            self._note("Options can only be used with string and number inputs", options.place)
            return None
        return self._listed(options, kind)

    def pattern(self, kind: InputType) -> Pattern | None:
        """What a value must match: a bare regular expression, without slashes around it."""
        if not self._field.given("regex"):
            return None
        regex = _attribute(self._field, "regex")
        text = checks.text(regex)
        if kind is not InputType.STRING:
            self._note("RegEx validation can only be used with string inputs", regex.place)
        elif text is not None:
            try:
                return self._patterns.of(text)
            except Invalid as error:
                self._note(f"invalid regular expression: {error}", regex.place)
        return None

    def default(self, spec: InputSpec, config: Map, options: tuple[Value, ...] | None) -> Value:
        """The value of an input that is given none: null, which is empty text for a string, if nothing else is said."""
        try:
            return self._checked(spec, config, options)
        except Invalid as error:
            self._note(str(error), config.places["default"])
            return None

    def _checked(self, spec: InputSpec, config: Map, options: tuple[Value, ...] | None) -> Value:
        value = config.get("default")
        if value is None:
            return "" if spec.type is InputType.STRING else None
        return spec.checked(value, options, "default", config.places["default"])

    def rules(self, spec: InputSpec) -> tuple[InputRule, ...]:
        """The rules that are right."""
        rules = _attribute(self._field, "rules")
        if not isinstance(rules.value, Items):
            rules.fault("should be an array")
            return ()
        found = (self._rule(spec, element) for element in rules.elements())
        return tuple(rule for rule in found if rule is not None)

    def _rule(self, spec: InputSpec, field: Field) -> InputRule | None:
        before = len(field.issues)
        rule = Field(field.value, field.path, self._label, field.place, field.issues)
        if not rule.has_keys_of(INPUT_RULE) or not isinstance(rule.value, Map):
            return None
        condition = self._condition(rule.attribute("if")) if rule.given("if") else None
        options = self._listed(rule.attribute("options"), spec.type) if rule.given("options") else None
        if "default" not in rule.value or options == ():
            rule.fault("rule must define 'options' with at least one value and a 'default'")
        if len(field.issues) > before:
            return None
        try:
            default = self._checked(spec, rule.value, None)
        except Invalid as error:  # GitLab looks at the default only if the rule holds
            return InputRule(condition, options, None, field.place, str(error))
        if options is not None and not any(same(default, one) for one in options):
            rule.fault(f"default '{shown(default)}' must be one of the options: {listing(options)}")
        return InputRule(condition, options, default, field.place)

    def _condition(self, field: Field) -> Condition | None:
        if not isinstance(field.value, str):
            field.fault(f"{SYNTAX}: it must be text")
            return None
        try:
            condition = Condition(field.value, self._patterns)
        except Invalid as error:
            field.fault(str(error))
            return None
        for name in condition.quoted:
            text = f"`$[[ inputs.{name} ]]` is text in quotes; write it without them for the value of the input"
            field.issues.warn(f"{field.label}: {text}", field.path, field.place)
        return condition

    def _listed(self, field: Field, kind: InputType) -> tuple[Value, ...] | None:
        """The elements of a list of options; those of a string are text."""
        if not isinstance(field.value, Items):
            field.fault("should be an array")
            return None
        if len(field.value) > MAX_OPTIONS:
            self._field.fault(f"cannot define more than {MAX_OPTIONS} options")
        if None in field.value:
            self._field.fault("options array cannot contain null values")
        if any(isinstance(option, Map | Items) for option in field.value):
            self._field.fault("options array can only contain plain values")
            return None
        return tuple(scalar_text(option) if kind is InputType.STRING else option for option in field.value)

    def _note(self, text: str, place: Place) -> None:
        self._field.issues.add(f"{self._label} {text}", self._field.path, place)
