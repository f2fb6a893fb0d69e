"""`cache`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.plan import Cache, CacheKey
from domain.config.readers.cache import read_caches
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "caches"),
    [
        ("{paths: [a, b]}", (Cache(paths=("a", "b")),)),
        ("{}", ()),
        ("[]", ()),
        ("[{}, {paths: [a]}]", (Cache(paths=("a",)),)),
        ("{key: k, untracked: true, unprotect: true}", (Cache(CacheKey("k"), untracked=True, unprotect=True),)),
        ("{key: $CI_COMMIT_REF_SLUG}", (Cache(CacheKey("$CI_COMMIT_REF_SLUG")),)),
        ("{key: ''}", (Cache(),)),
        ("{key: null, paths: null, when: null}", (Cache(),)),
        ("{key: {files: [a.lock]}}", (Cache(CacheKey(files=("a.lock",))),)),
        ("{key: {files: [a, b], prefix: $X}}", (Cache(CacheKey(files=("a", "b"), prefix="$X")),)),
        ("{key: {files_commits: [a/b]}}", (Cache(CacheKey(files_commits=("a/b",))),)),
        ("{policy: pull}", (Cache(policy="pull"),)),
        ("{policy: push}", (Cache(policy="push"),)),
        ("{policy: pull-push}", (Cache(),)),
        ("{policy: $POLICY}", (Cache(policy="$POLICY"),)),
        ("{policy: '${POLICY}'}", (Cache(policy="${POLICY}"),)),
        ("{policy: ''}", (Cache(),)),
        ("{when: always}", (Cache(when="always"),)),
        ("{fallback_keys: [a, b, c, d, e]}", (Cache(fallback_keys=("a", "b", "c", "d", "e")),)),
        ("[{key: a}, {key: b}, {key: c}, {key: d}]", tuple(Cache(CacheKey(key)) for key in "abcd")),
    ],
)
def test_given(text: str, caches: tuple[Cache, ...]) -> None:
    assert given(read_caches, "cache", text) == caches


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("ls", 1, "cache", "cache config can only be a hash or an array"),
        ("[ls]", 1, "cache", "cache config should be a hash"),
        ("[{},\n null]", 2, "cache", "cache config should be a hash"),
        ("[{}, {}, {}, {}, {}]", 1, "cache", "cache config no more than 4 caches can be created"),
        ("{\n path: [a]}", 2, "cache", "cache config contains unknown keys: path; did you mean `paths`?"),
        ("{key: 1}", 1, "cache:key", "cache:key config should be a hash, a string or a symbol"),
        ("{\n key: [a]}", 2, "cache:key", "cache:key config should be a hash, a string or a symbol"),
        ("{key: a/b}", 1, "cache:key", 'cache:key config cannot contain the "/" character'),
        ("{key: a%2fb}", 1, "cache:key", 'cache:key config cannot contain the "/" character'),
        ("{key: .}", 1, "cache:key", 'cache:key config cannot be "." or ".."'),
        ("{key: '%2E.'}", 1, "cache:key", 'cache:key config cannot be "." or ".."'),
        ("{key: {}}", 1, "cache:key", "cache:key config must use exactly one of these keys: files, files_commits"),
        (
            "{key: {prefix: a}}",
            1,
            "cache:key",
            "cache:key config must use exactly one of these keys: files, files_commits",
        ),
        (
            "{key: {files: [a],\n files_commits: [b]}}",
            1,
            "cache:key",
            "cache:key config must use exactly one of these keys: files, files_commits",
        ),
        (
            "{key: {files: [a],\n prefixes: b}}",
            2,
            "cache:key",
            "cache:key config contains unknown keys: prefixes; did you mean `prefix`?",
        ),
        ("{key: {\n files: a}}", 2, "cache:key:files", "cache:key:files config should be an array of strings"),
        ("{key: {files: []}}", 1, "cache:key:files", "cache:key:files config requires at least 1 item"),
        (
            "{key: {files_commits: [a, b, c, d, e, f, g, h, i, j, k]}}",
            1,
            "cache:key:files_commits",
            "cache:key:files_commits config has too many items (maximum is 10)",
        ),
        (
            "{key: {files: [a],\n prefix: a/b}}",
            2,
            "cache:key:prefix",
            'cache:key:prefix config cannot contain the "/" character',
        ),
        (
            "{key: {files: [a], prefix: 1}}",
            1,
            "cache:key:prefix",
            "cache:key:prefix config should be a string or symbol",
        ),
        ("{paths: a}", 1, "cache:paths", "cache:paths config should be an array of strings"),
        ("{untracked: 1}", 1, "cache:untracked", "cache:untracked config should be a boolean value"),
        ("{unprotect: a}", 1, "cache:unprotect", "cache:unprotect config should be a boolean value"),
        (
            "{policy: pul}",
            1,
            "cache:policy",
            "cache policy should be a variable or one of: pull-push, push, pull",
        ),
        ("{policy: $}", 1, "cache:policy", "cache policy should be a variable or one of: pull-push, push, pull"),
        ("{policy: [pull]}", 1, "cache:policy", "cache policy should be a string"),
        (
            "{\n when: alway}",
            2,
            "cache:when",
            "cache when should be one of: on_success, on_failure, always; did you mean `always`?",
        ),
        (
            "{when: true}",
            1,
            "cache:when",
            "cache when should be a string; should be one of: on_success, on_failure, always",
        ),
        ("{fallback_keys: a}", 1, "cache:fallback_keys", "cache:fallback_keys config should be an array of strings"),
        (
            "{fallback_keys: [a, b, c, d, e, f]}",
            1,
            "cache:fallback_keys",
            "cache fallback keys has to many entries (maximum 5)",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_caches, "cache", text) == [(line, path, message)]
