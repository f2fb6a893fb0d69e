"""`cache`: files kept from one run of a job to the next. Source: docs/reference/ci-yaml.md, "Cache", "Limits"."""

import re
from typing import Final
from urllib.parse import unquote_plus

from domain.config.keywords import ARTIFACTS_WHEN, CACHE, CACHE_KEY
from domain.config.plan import Cache, CacheKey
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map

MAX_CACHES: Final = 4
"""Caches of one job."""
MAX_FALLBACK_KEYS: Final = 5
"""Fallback keys of one cache."""
MAX_KEY_FILES: Final = 10
"""Files from which one key is made."""
POLICIES: Final = ("pull-push", "push", "pull")
"""Values of `cache:policy` beside a variable."""
FILE_KEYS: Final = ("files", "files_commits")
"""Keys of `cache:key` of which there must be exactly one."""

_VARIABLE: Final = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)


def read_caches(field: Field) -> tuple[Cache, ...] | None:
    """One mapping or a list of them, lists within it flattened; an empty one turns the default off."""
    if not isinstance(field.value, Items | Map):
        field.fault("can only be a hash or an array")
        return None
    elements = checks.flattened_elements(field)
    if elements is None:
        return None
    if len(elements) > MAX_CACHES:
        field.fault(f"no more than {MAX_CACHES} caches can be created")
        return None
    caches = [_cache(element) for element in elements if element.value != Map()]
    return tuple(cache for cache in caches if cache is not None)


def _cache(field: Field) -> Cache | None:
    if not field.has_keys_of(CACHE):
        return None
    return Cache(
        key=_key(field.entry("key")) if field.given("key") else CacheKey(),
        paths=(checks.strings(field.entry("paths")) if field.given("paths") else None) or (),
        untracked=_flag(field, "untracked"),
        policy=_policy(field.attribute("policy")) if field.given("policy") else POLICIES[0],
        when=(checks.choice(field.attribute("when"), ARTIFACTS_WHEN) if field.given("when") else None) or "on_success",
        unprotect=_flag(field, "unprotect"),
        fallback_keys=_fallback_keys(field) if field.given("fallback_keys") else (),
    )


def _flag(field: Field, key: str) -> bool:
    return bool(checks.boolean(field.entry(key))) if field.given(key) else False


def _policy(field: Field) -> str:
    policy = checks.text(field)
    if policy and policy not in POLICIES and not _VARIABLE.fullmatch(policy):
        field.fault(f"should be a variable or one of: {', '.join(POLICIES)}")
    return policy or POLICIES[0]


def _fallback_keys(field: Field) -> tuple[str, ...]:
    keys = checks.strings(field.entry("fallback_keys")) or ()
    if len(keys) > MAX_FALLBACK_KEYS:
        text = f"has to many entries (maximum {MAX_FALLBACK_KEYS})"  # the spelling is GitLab's
        field.attribute("fallback_keys").fault(text)
    return keys


def _key(field: Field) -> CacheKey:
    """A text, or the files from which the key is made."""
    if isinstance(field.value, str):
        _check_part(field, field.value)
        return CacheKey(field.value) if field.value.strip() else CacheKey()
    if not isinstance(field.value, Map):
        field.fault("should be a hash, a string or a symbol")
        return CacheKey()
    field.has_keys_of(CACHE_KEY)
    if sum(field.given(key) for key in FILE_KEYS) != 1:
        field.fault(f"must use exactly one of these keys: {', '.join(FILE_KEYS)}")
    return CacheKey(files=_files(field, "files"), files_commits=_files(field, "files_commits"), prefix=_prefix(field))


def _prefix(field: Field) -> str:
    if not field.given("prefix"):
        return ""
    entry = field.entry("prefix")
    if not isinstance(entry.value, str):
        entry.fault("should be a string or symbol")
        return ""
    _check_part(entry, entry.value)
    return entry.value


def _check_part(field: Field, text: str) -> None:
    """A key becomes a part of an address: it must not lead elsewhere, not even when it is escaped."""
    plain = unquote_plus(text)
    if "/" in plain:
        field.fault('cannot contain the "/" character')
    elif plain in (".", ".."):
        field.fault('cannot be "." or ".."')


def _files(field: Field, key: str) -> tuple[str, ...]:
    if not field.given(key):
        return ()
    entry = field.entry(key)
    files = checks.strings(entry)
    if files == ():
        entry.fault("requires at least 1 item")
    elif files and len(files) > MAX_KEY_FILES:
        entry.fault(f"has too many items (maximum is {MAX_KEY_FILES})")
    return files or ()
