"""Which refs are protected: only the default branch, and a branch only (reference: reliability, S1)."""


def is_protected(ref: str, default_branch: str, *, tag: bool) -> bool:
    """Whether a ref is protected. A tag that is named like the default branch is another ref."""
    return not tag and ref == default_branch
