"""The mirrored project of the tests of mirrors."""

from tests.api.mirrors.conftest import mirrored  # noqa: F401
