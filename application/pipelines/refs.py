"""The branch or tag that a name means."""

from domain.errors import Invalid
from git.repository import Repository


async def find_ref(repository: Repository, name: str) -> tuple[str, bool, str]:
    """Short name, whether it is a tag, and commit of a branch or tag. Raises `Invalid`."""
    for prefix, tag in (("refs/heads/", False), ("refs/tags/", True)):
        if name.startswith("refs/") and not name.startswith(prefix):
            continue
        short = name.removeprefix(prefix)
        for ref in await repository.refs(prefix + short):
            if ref.name == prefix + short:
                return short, tag, ref.sha
    raise Invalid("Reference not found")
