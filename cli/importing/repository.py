"""Branches and tags of a project: fetched from the source, pushed to the target."""

from cli.importing.patient_api import GaveUp
from cli.importing.report import Report
from cli.importing.source import Source
from cli.importing.target import Target
from domain.errors import Unavailable
from domain.project_import import refs
from domain.project_import.left_behind import large_files
from domain.project_import.plan import Item, NotCarried, Outcome
from git.transport.transfer import SOURCE, TARGET, Access, Transfer, transfer

_KIND = "repository"
_AGAIN = "Import again; what was pushed is found and left alone."
_REFUSED = "If a rule protects it, permit yourself to push while you move, and import again."


def carry_repository(source: Source, target: Target, report: Report) -> frozenset[str]:
    """Push what is missing; the full names of the source's branches and tags."""
    try:
        with transfer() as between:
            found = between.fetch(Access(source.clone_url, source.token), SOURCE)
            plan = _plan(between, source, target, found)
            default = source.project.get("default_branch") or ""
            tracked = bool(default) and between.uses_large_files(default)
            refused = between.push(target.repository, plan.push) if not report.dry_run else {}
    except GaveUp:
        raise
    except Unavailable as error:
        report.add(NotCarried(_KIND, source.path, str(error), _AGAIN, failed=True))
        return frozenset()
    report.add(*plan.not_carried, *large_files(source.project, tracked=tracked))
    report.add(*(refs.not_carried(name, why, _REFUSED) for name, why in refused.items()))
    for outcome, names in ((Outcome.CREATED, plan.push), (Outcome.UNCHANGED, plan.unchanged)):
        for name in names:
            if name not in refused:
                report.carry(_item(name, outcome))
    return frozenset(found)


def _plan(between: Transfer, source: Source, target: Target, found: dict[str, str]) -> refs.Refs:
    present = between.fetch(target.repository, TARGET) if target.exists else {}
    other = refs.differing(found, present)
    behind = {name for name in other if between.is_ancestor(present[name], found[name])}
    ahead = {name for name in other if between.is_ancestor(found[name], present[name])}
    return refs.plan(found, present, behind, ahead, source.project.get("default_branch") or "")


def _item(name: str, outcome: Outcome) -> Item:
    return Item(refs.kind_of(name), refs.short(name), outcome)
