"""CI/CD variables of a project (docs.gitlab.com/api/project_level_variables), by key and environment scope."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from domain.project_import.plan import Call, Document, Item, NotCarried, Outcome, Plan, differing, together, unchanged
from domain.variables.ci_variables import EVERYWHERE

KIND: Final = "variable"
_SHOWN_TO_NOBODY: Final = "It is hidden, and the source shows its value to nobody."
_MEND: Final = "Correct it at the source and import again, or set it here: `perdure variable set`."
_NOT_HIDDEN: Final = "It is hidden at the source; here it was shown before, so it cannot become hidden."


def plan(source: Sequence[Document], present: Sequence[Document]) -> Plan:
    """Each variable in one call with all its flags: none is ever less protected on the way than at its end."""
    here = {_place(one): one for one in present}
    return together(_planned(one, here.get(_place(one))) for one in source)


def _planned(source: Document, present: Document | None) -> Plan:
    key, scope = _place(source)
    name = key if scope == EVERYWHERE else f"{key} ({scope})"
    hidden = bool(source.get("hidden"))
    if source.get("value") is None:
        if present is not None:
            return Plan((unchanged(KIND, name),))
        return Plan(not_carried=(NotCarried(KIND, name, _SHOWN_TO_NOBODY, _set_by_hand(key, scope, source)),))
    wanted: dict[str, Any] = {
        "value": source["value"],
        "variable_type": source.get("variable_type") or "env_var",
        "protected": bool(source.get("protected")),
        "masked": bool(source.get("masked")),
        "raw": bool(source.get("raw")),
        "description": source.get("description") or "",
    }
    if present is None:
        made = {"key": key, "environment_scope": scope, **wanted, **({"masked_and_hidden": True} if hidden else {})}
        return Plan((Item(KIND, name, Outcome.CREATED, (Call("POST", "/variables", made),), if_refused=_MEND),))
    still_shown = hidden and not present.get("hidden")
    left = (NotCarried(KIND, name, _NOT_HIDDEN, "Remove it here, and import again."),) if still_shown else ()
    if not differing(wanted, present):
        return Plan((unchanged(KIND, name),), left)
    route = f"/variables/{quote(key, safe='')}"
    call = Call("PUT", route, {**wanted, "filter": {"environment_scope": scope}})
    return Plan((Item(KIND, name, Outcome.UPDATED, (call,), if_refused=_MEND),), left)


def _place(variable: Document) -> tuple[str, str]:
    return str(variable["key"]), str(variable.get("environment_scope") or EVERYWHERE)


def _set_by_hand(key: str, scope: str, source: Document) -> str:
    words = ["perdure variable set", key, "--hidden"]
    words += ["--protected"] if source.get("protected") else []
    words += ["--raw"] if source.get("raw") else []
    words += ["--file"] if source.get("variable_type") == "file" else []
    words += [f"--scope '{scope}'"] if scope != EVERYWHERE else []
    return f"`{' '.join(words)}`"
