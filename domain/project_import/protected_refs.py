"""Protected branches and tags (docs.gitlab.com/api/protected_branches, .../protected_tags).

GitLab's rules permit roles, and in its paid editions people, groups and deploy keys. Ours permit roles. Of several
roles the lowest counts, as in GitLab; where only people are permitted, nobody is here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

from domain.project_import.plan import Call, Document, Item, NotCarried, Outcome, Plan, differing, together, unchanged

BRANCH: Final = "protected_branch"
TAG: Final = "protected_tag"
_LEVELS: Final = (30, 40, 60)
"""Access levels that a rule of ours can ask for."""
_NOBODY: Final = 0
_MAINTAINERS: Final = 40
_SPECIAL: Final = (
    ("user_id", "user"),
    ("group_id", "group"),
    ("deploy_key_id", "deploy key"),
    ("member_role_id", "custom role"),
)
"""Fields that make an entry one of somebody in particular, whatever level stands beside them."""


def branches(source: Sequence[Document], present: Sequence[Document]) -> Plan:
    """Each rule takes the place of that with its name here, in one call: the branch is protected all the time."""
    here = {one["name"]: one for one in present}
    planned = [_branch(one, here.get(one["name"])) for one in source]
    return together([*planned, _only_here(BRANCH, source, present)])


def tags(source: Sequence[Document], present: Sequence[Document]) -> Plan:
    """The same for tags."""
    here = {one["name"]: one for one in present}
    planned = [_tag(one, here.get(one["name"])) for one in source]
    return together([*planned, _only_here(TAG, source, present)])


def _branch(source: Document, present: Document | None) -> Plan:
    name = source["name"]
    wanted = {
        "push_access_level": _level(source.get("push_access_levels")),
        "merge_access_level": _level(source.get("merge_access_levels")),
        "allow_force_push": bool(source.get("allow_force_push")),
    }
    have = present and {
        "push_access_level": _level(present.get("push_access_levels")),
        "merge_access_level": _level(present.get("merge_access_levels")),
        "allow_force_push": bool(present.get("allow_force_push")),
    }
    left = [
        *_somebody(BRANCH, source, "push_access_levels", "push to it"),
        *_somebody(BRANCH, source, "merge_access_levels", "merge into it"),
        *_unprotecting(source),
    ]
    if source.get("code_owner_approval_required"):
        reason = "Its code owners have to approve at the source."
        left.append(NotCarried(BRANCH, name, reason, "Ask for approvals in the project's settings."))
    return Plan((_item(BRANCH, "/protected_branches", name, wanted, have),), tuple(left))


def _tag(source: Document, present: Document | None) -> Plan:
    wanted = {"create_access_level": _level(source.get("create_access_levels"))}
    have = present and {"create_access_level": _level(present.get("create_access_levels"))}
    left = tuple(_somebody(TAG, source, "create_access_levels", "create it"))
    return Plan((_item(TAG, "/protected_tags", source["name"], wanted, have),), left)


def _item(kind: str, route: str, name: str, wanted: dict[str, Any], have: Document | None) -> Item:
    if have is None:
        return Item(kind, name, Outcome.CREATED, (Call("POST", route, {"name": name, **wanted}),))
    changes = differing(wanted, have)
    if not changes:
        return unchanged(kind, name)
    return Item(kind, name, Outcome.UPDATED, (Call("PATCH", f"{route}/{quote(name, safe='')}", changes),))


def _level(entries: Sequence[Document] | None) -> int:
    """The level that a rule asks for; one that is not known here becomes the next stricter one."""
    asked = [int(one.get("access_level") or 0) for one in entries or () if not _special(one)]
    real = [level for level in asked if level != _NOBODY]
    if not real:
        return _NOBODY
    return next((level for level in _LEVELS if level >= min(real)), _NOBODY)


def _special(entry: Document) -> str:
    """Who in particular an entry permits; empty for a role."""
    found = next(((field, words) for field, words in _SPECIAL if entry.get(field)), None)
    if found is None:
        return ""
    field, words = found
    name = entry.get("access_level_description")
    return f"{words} {entry[field]}" + (f" ({name})" if name else "")


def _somebody(kind: str, rule: Document, field: str, what: str) -> Iterator[NotCarried]:
    people = [who for one in rule.get(field) or () if (who := _special(one))]
    if people:
        reason = f"At the source {', '.join(people)} may {what}; here only roles may."
        advice = "Give those people a role that may, or change the rule here."
        yield NotCarried(kind, rule["name"], reason, advice, count=len(people))


def _unprotecting(rule: Document) -> Iterator[NotCarried]:
    entries = rule.get("unprotect_access_levels") or ()
    if any(_special(one) or int(one.get("access_level") or _MAINTAINERS) > _MAINTAINERS for one in entries):
        reason = "At the source only some may change this rule; here all maintainers may."
        yield NotCarried(BRANCH, rule["name"], reason, "See who maintains the project.")


def _only_here(kind: str, source: Sequence[Document], present: Sequence[Document]) -> Plan:
    names = {one["name"] for one in source}
    reason = "It is protected here, but not at the source; it stays so."
    advice = "Remove the rule here if developers shall push to it."
    return Plan(
        not_carried=tuple(NotCarried(kind, one["name"], reason, advice) for one in present if one["name"] not in names)
    )
