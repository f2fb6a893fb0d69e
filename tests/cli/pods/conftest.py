"""A person at a shell, logged in to a pod that really runs."""

from tests.cli.remote.conftest import nobody, shell, site

__all__ = ["nobody", "shell", "site"]
