"""Two pods, as for bridges between them."""

from tests.application.bridges.conftest import two as two
