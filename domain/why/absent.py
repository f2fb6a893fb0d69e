"""Why a job of the configuration is not in a pipeline: the clause that kept it out, with what it saw."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from domain.why.explanation import Explanation, Reason

_MAX_TEXT: Final = 200
"""Characters of an expression or a value in a sentence; the facts have all of it."""
MAIN_FILE: Final = ".gitlab-ci.yml"


def absent(why: Mapping[str, Any]) -> Explanation:
    """Explain it by its reason, as whoever asks may see it (`domain.config.why.why_shown`)."""
    tried: Sequence[Mapping[str, Any]] = why.get("tried") or ()
    decided = tried[-1] if tried else None
    text = f"It is not in this pipeline: {why.get('text') or why.get('clause') or 'nothing is known of it'}."
    facts = {"clause": why.get("clause"), "tried": [dict(clause) for clause in tried]}
    if decided is None:
        return Explanation(Reason.ABSENT, text, facts, "Give it a rule that holds.")
    place = _place(decided)
    seen = _seen(decided)
    matched = "held" if decided.get("matched") else "did not hold"
    asked = f" asked for `{_cut(str(decided['expression']))}`, which {matched}" if decided.get("expression") else ""
    sentence = f" Last looked at, `{decided['name']}`{asked}{f' ({seen})' if seen else ''}." if asked or seen else ""
    step = f"Change the clause{f' at {place}' if place else ''}, or run a pipeline for which it lets the job in; "
    return Explanation(Reason.ABSENT, text + sentence, facts, f"{step}`perdure plan` shows which.")


def _place(clause: Mapping[str, Any]) -> str:
    return f"{clause.get('file') or MAIN_FILE}:{clause['line']}" if clause.get("line") else ""


def _seen(clause: Mapping[str, Any]) -> str:
    """What the clause looked at."""
    values: Mapping[str, str | None] = clause.get("values") or {}
    parts = [f"{name} is {_value(value)}" for name, value in values.items()]
    parts += [str(clause["detail"])] if clause.get("detail") else []
    return _cut(", ".join(parts))


def _value(value: str | None) -> str:
    return "not set" if value is None else f'"{_cut(value)}"'


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."
