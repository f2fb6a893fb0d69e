"""`CI_ENVIRONMENT_*`: what a job that names an environment is told of it.

Source: docs/reference/ci-yaml.md, "Predefined variables".
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from domain.variables.job_variables import JobVariable

MAX_SLUG: Final = 24
"""Characters of a slug: the shortest limit among the systems that take it as a name."""
_KEPT: Final = 17
"""Characters that stay of a shortened slug, before a dash and the suffix."""
_SUFFIX: Final = 6
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"

TIERS: Final[Mapping[str, re.Pattern[str]]] = {
    "development": re.compile("dev|review|trunk", re.IGNORECASE),
    "testing": re.compile("test|tst|int|ac(ce|)pt|qa|qc|control|quality", re.IGNORECASE),
    "staging": re.compile("st(a|)g|mod(e|)l|pre|demo|non", re.IGNORECASE),
    "production": re.compile("pr(o|)d|live", re.IGNORECASE),
}
"""What a name must hold for a tier; the first tier that fits counts."""
OTHER_TIER: Final = "other"


def environment_variables(name: str, url: str = "", action: str = "start", tier: str = "") -> tuple[JobVariable, ...]:
    """The variables of one environment. `name` is expanded already; without a `tier` it is guessed from the name.

    `url` may still hold variables, these here too: expand it together with all others. An empty one is left out.
    """
    known = {
        "CI_ENVIRONMENT_NAME": name,
        "CI_ENVIRONMENT_SLUG": environment_slug(name),
        "CI_ENVIRONMENT_ACTION": action,
        "CI_ENVIRONMENT_TIER": tier or guessed_tier(name),
    }
    variables = tuple(JobVariable(key, value, raw=True) for key, value in known.items())
    return (*variables, JobVariable("CI_ENVIRONMENT_URL", url)) if url else variables


def environment_slug(name: str) -> str:
    """A name for hosts and labels: starts with a letter, then a to z, 0 to 9 and single inner `-`, at most 24.

    A name that had to be changed or shortened gets a suffix of its hash, so that two names never share a slug.
    """
    slug = re.sub("[^a-z0-9]", "-", name.lower())
    if not re.match("[a-z]", slug):
        slug = f"env-{slug}"
    slug = re.sub("-+", "-", slug)
    if slug == name and len(slug) <= MAX_SLUG:
        return slug.removesuffix("-")
    return f"{slug[:_KEPT].removesuffix('-')}-{_suffix(name)}"


def guessed_tier(name: str) -> str:
    """`development`, `testing`, `staging`, `production` or `other`, by what people call such environments."""
    return next((tier for tier, pattern in TIERS.items() if pattern.search(name)), OTHER_TIER)


def _suffix(name: str) -> str:
    """The last six digits of the name's SHA-256 in base 36."""
    number = int(hashlib.sha256(name.encode()).hexdigest(), 16)
    digits = []
    for _ in range(_SUFFIX):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
