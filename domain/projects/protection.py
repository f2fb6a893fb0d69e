"""Which refs are protected, and what that asks of whoever moves them (docs/reference/reliability.md, "Protected refs").

A rule names one branch or tag, or many with `*`, which also stands for `/`. Branches and tags never share a rule: a tag
that is named like a protected branch is another ref. Of several rules that fit, the most permissive counts, as in
GitLab.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

NOBODY: Final = 0
"""The level of a rule that permits nobody."""


@dataclass(frozen=True, slots=True)
class BranchRule:
    """A protected branch, or those that fit a name with `*`. Levels are access levels, 0 is nobody."""

    name: str
    push_level: int
    merge_level: int
    allow_force_push: bool = False


@dataclass(frozen=True, slots=True)
class TagRule:
    """A protected tag, or those that fit a name with `*`."""

    name: str
    create_level: int


class Movement(StrEnum):
    """What happens to a ref; values are what people read."""

    CREATE = "create"
    UPDATE = "push to"
    FORCE = "force push to"
    DELETE = "delete"
    MERGE = "merge into"


@dataclass(frozen=True, slots=True)
class Protection:
    """The protected refs of a project."""

    branches: tuple[BranchRule, ...] = field(default=())
    tags: tuple[TagRule, ...] = field(default=())

    def protects(self, ref: str, *, tag: bool) -> bool:
        """Whether a branch or tag, by its short name, is protected."""
        return bool(self.of_tag(ref) if tag else self.of_branch(ref))

    def of_branch(self, name: str) -> list[BranchRule]:
        """The rules of a branch."""
        return [rule for rule in self.branches if fits(rule.name, name)]

    def of_tag(self, name: str) -> list[TagRule]:
        """The rules of a tag."""
        return [rule for rule in self.tags if fits(rule.name, name)]

    def refusal(self, ref: str, movement: Movement, level: int, *, tag: bool) -> str:
        """Why somebody with an access level may not do that to a ref; empty if they may, as far as protection goes."""
        if tag:
            return self._refusal_of_tag(ref, movement, level)
        rules = self.of_branch(ref)
        if not rules:
            return ""
        if movement is Movement.DELETE:
            return f"You can only delete protected branches using the web interface or the API: {ref} is protected."
        if movement is Movement.FORCE and not any(rule.allow_force_push for rule in rules):
            return f"You are not allowed to force push code to a protected branch on this project: {ref} is protected."
        if any(permits(rule.push_level, level) for rule in rules):
            return ""
        if movement is Movement.MERGE and any(permits(rule.merge_level, level) for rule in rules):
            return ""
        return f"You are not allowed to {movement} protected branches on this project: {ref} is protected."

    def _refusal_of_tag(self, ref: str, movement: Movement, level: int) -> str:
        rules = self.of_tag(ref)
        if not rules:
            return ""
        if movement is not Movement.CREATE:
            return f"Protected tags cannot be {'deleted' if movement is Movement.DELETE else 'updated'}: {ref}."
        if any(permits(rule.create_level, level) for rule in rules):
            return ""
        return f"You are not allowed to create this tag as it is protected: {ref}."

    def may_run(self, ref: str, level: int, *, tag: bool) -> bool:
        """Whether somebody with an access level may run pipelines on a ref: on a protected one, who may change it."""
        if tag:
            rules = self.of_tag(ref)
            return not rules or any(permits(rule.create_level, level) for rule in rules)
        found = self.of_branch(ref)
        return not found or any(permits(rule.push_level, level) or permits(rule.merge_level, level) for rule in found)


def permits(least: int, level: int) -> bool:
    """Whether an access level is enough for what a rule asks."""
    return least != NOBODY and level >= least


def fits(pattern: str, name: str) -> bool:
    """Whether a name is the one of a rule, or one of those that its `*` stand for.

    Each text between two `*` is taken where it comes first: nothing is tried twice, whatever the pattern.
    """
    if "*" not in pattern:
        return name == pattern
    first, *between, last = pattern.split("*")
    position, end = len(first), len(name) - len(last)
    if position > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for text in between:
        found = name.find(text, position, end)
        if found < 0:
            return False
        position = found + len(text)
    return True
