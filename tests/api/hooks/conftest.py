"""The mirrored project of the tests of mirrors."""

from tests.application.mirrors.conftest import mirrored  # noqa: F401
