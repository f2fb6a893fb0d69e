"""`identity` and `dast_configuration`, which GitLab has in its paid tiers.

Source: docs/reference/ci-yaml.md, "Job keywords".
"""

from typing import Final

from domain.config.plan import Document
from domain.config.reading import checks
from domain.config.reading.documents import Key, Shape, read_shape
from domain.config.reading.field import Field

IDENTITIES: Final = ("google_cloud",)
"""Values of `identity`."""
DAST_CONFIGURATION: Final[Shape] = {"site_profile": Key(checks.text), "scanner_profile": Key(checks.text)}
"""Keys of `dast_configuration`."""


def read_identity(field: Field) -> str | None:
    """The cloud as whose workload the job identifies itself."""
    said = f"unknown value: {field.value}; should be one of: {', '.join(IDENTITIES)}"
    return checks.choice(field, IDENTITIES, said if isinstance(field.value, str) else "")


def read_dast_configuration(field: Field) -> Document | None:
    """The names of the profiles of a scan."""
    return read_shape(field, DAST_CONFIGURATION)
