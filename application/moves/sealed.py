"""What is sealed in the rows of an organisation: opened by the key of the pod that it leaves, sealed by the other's."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from application.accounts import deploy_token_access
from application.pipelines.sealed_values import opening_of, seal_of
from auth.encryption import Sealer
from domain.pods.belongings import BELONGINGS, Carried
from domain.sealed_documents import open_row, seal_row
from domain.sealed_for import CHAT, FORGE, HOOK, HOOK_BODY, MESSAGE
from models.repositories.hooks import incoming_hooks
from models.repositories.moves.row_text import Values
from models.repositories.owner import Owner
from models.repositories.pipelines import schedules
from models.repositories.projects import ci_variables, mirrors

PurposeOf: TypeAlias = Callable[[Mapping[str, Any]], str]

PURPOSES: Final[Mapping[str, PurposeOf]] = {
    "ci_variable": lambda row: ci_variables.purpose_of(Owner(row["project_id"], row["namespace_id"])),
    "deploy_token": lambda row: deploy_token_access.purpose_of(row["project_id"]),
    "forge_link": lambda _: FORGE,
    "hook": lambda _: HOOK,
    "chat_integration": lambda _: CHAT,
    "hook_delivery": lambda _: HOOK_BODY,
    "message": lambda _: MESSAGE,
    "incoming_hook": lambda row: incoming_hooks.purpose(row["project_id"]),
    "mirror": lambda row: mirrors.purpose(row["project_id"]),
    "schedule_variable": lambda row: schedules.purpose_of(row["schedule_id"]),
}
"""By table: what its sealed columns (`domain.pods.belongings`) are sealed for; the other pod calls it the same."""


def resealed(source: Sealer, target: Sealer) -> Callable[[str, Values], Values]:
    """Seals a row's secrets by the key of another pod. Raises `Invalid` for one that cannot be opened."""

    def work(name: str, row: Values) -> Values:
        changed = _changed(name, row, lambda text, purpose: target.seal(source.open(text, purpose), purpose))
        return seal_row(name, open_row(name, changed, opening_of(source)), seal_of(target))

    return work


def opened(sealer: Sealer) -> Callable[[str, Values], Values]:
    """Opens a row's secrets. Raises `Invalid` for one that cannot be opened."""

    def work(name: str, row: Values) -> Values:
        return open_row(name, _changed(name, row, sealer.open), opening_of(sealer))

    return work


def _changed(name: str, row: Values, change: Callable[[str, str], str]) -> Values:
    belonging = BELONGINGS[name]
    if not isinstance(belonging, Carried) or not belonging.sealed:
        return row
    purpose = PURPOSES[name](row)
    return {**row, **{column: change(row[column], purpose) for column in belonging.sealed if row[column]}}
