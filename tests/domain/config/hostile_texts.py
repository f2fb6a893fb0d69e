"""Texts that mean harm: each must end in a typed error, soon and in little memory."""

from collections.abc import Callable, Mapping
from typing import Final


def _bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def _merge_bomb(levels: int) -> str:
    lines = [".m0: &m0 {a: 1, b: 2}"]
    lines += [f".m{n}: &m{n} {{x: *m{n - 1}, y: *m{n - 1}, z: *m{n - 1}}}" for n in range(1, levels)]
    return "\n".join([*lines, "job: {script: x}"])


def _reference_bomb(levels: int) -> str:
    lines = [".r0: {script: [x, x, x, x, x, x, x, x]}"]
    lines += [f".r{n}: {{script: [{', '.join([f'!reference [.r{n - 1}, script]'] * 8)}]}}" for n in range(1, levels)]
    return "\n".join([*lines, f"job: {{script: !reference [.r{levels - 1}, script]}}"])


def _extends_bomb(jobs: int) -> str:
    keys = ", ".join(f"V{n}: v" for n in range(2_000))
    return "\n".join(
        [f".base: {{variables: {{{keys}}}}}", *_jobs(jobs, "{extends: .base, script: x, variables: {A: b}}")]
    )


def _jobs(count: int, body: str) -> list[str]:
    return [f"job-{n}: {body}" for n in range(count)]


LATE: Final = ("z: {script: x, rules: [{if: $NOPE}]}", "y: {script: x, needs: [z]}")
"""Jobs with a mistake that is only found after the rules of all jobs were asked."""


def _expressions(count: int) -> str:
    """Patterns that take exponential time in engines that go back, no two of them alike."""
    jobs = (
        f"job-{n}: {{script: x, rules: [{{if: '{' || '.join(f'$A =~ /(a*)*b{n}-{m}/' for m in range(24))}'}}]}}"
        for n in range(count)
    )
    return "\n".join([*jobs, *LATE])


def _globs(count: int) -> str:
    patterns = ", ".join(f"'**/*a*{n}*b*/**/*'" for n in range(50))
    return "\n".join([*_jobs(count, f"{{script: x, rules: [{{changes: [{patterns}]}}]}}"), *LATE])


def _circle(length: int) -> str:
    return "\n".join(f"j{n}: {{script: x, needs: [j{(n + 1) % length}]}}" for n in range(length))


def _blocks(count: int) -> str:
    blocks = "".join(f"    - $[[ inputs.a | truncate(0,{n}) ]]\n" for n in range(count))
    return f"spec:\n  inputs:\n    a: {{default: x}}\n---\nj:\n  script:\n{blocks}"


TEXTS: Final[Mapping[str, Callable[[], str]]] = {
    "alias bomb": lambda: _bomb(12),
    "alias bomb of mappings": lambda: _merge_bomb(30),
    "reference bomb": lambda: _reference_bomb(9),
    "101 levels": lambda: "a: " + "[" * 101 + "]" * 101,
    "a million brackets": lambda: "[" * 1_000_000,
    "a million braces": lambda: "a: " + "{a: " * 400_000,
    "more than 2 MiB": lambda: "# " + "x" * (2 * 1024 * 1024),
    "an alias in itself": lambda: "a: &a [*a]",
    "an alias in itself, deeper": lambda: "a: &a {b: {c: [*a]}}",
    "a Python object": lambda: "a: !!python/object/apply:os.system ['true']",
    "a Ruby object": lambda: "a: !ruby/object:Gem::Installer {i: x}",
    "extends of everything": lambda: _extends_bomb(2_000),
    "a circle of extends": lambda: "\n".join(f".a{n}: {{extends: .a{(n + 1) % 5000}}}" for n in range(5_000)),
    "a circle of needs": lambda: _circle(5_000),
    "evil patterns": lambda: _expressions(400),
    "evil globs": lambda: _globs(300),
    "a pattern that grows": lambda: "j: {script: x, rules: [{if: '$A =~ /((a{1,500}){1,500}){1,500}/'}]}",
    "a long condition": lambda: f"j: {{script: x, rules: [{{if: '{' && '.join(['$A'] * 5_000)}'}}]}}",
    "10,000 parentheses": lambda: f"j: {{script: x, rules: [{{if: '{'(' * 10_000}$A'}}]}}",
    "1,000 includes": lambda: (
        "include:\n" + "".join(f"  - local: /f{n}.yml\n" for n in range(1_000)) + "j: {script: x}"
    ),
    "a wide matrix": lambda: (
        "j: {script: x, parallel: {matrix: [{" + ", ".join(f"V{n}: [a, b, c, d]" for n in range(60)) + "}]}}"
    ),
    "20,000 matrices": lambda: "j: {script: x, parallel: {matrix: [" + "{A: [a]}, " * 20_000 + "]}}",
    "a thousand unknown keys": lambda: "\n".join(_jobs(1_500, "{scrpt: x, imge: y, stge: z, befor_script: a}")),
    "a huge number": lambda: "j: {script: x, retry: " + "9" * 100_000 + "}",
    "a thousand unknown needs": lambda: "\n".join(_jobs(1_500, "{script: x, needs: [jobb-1, jobb-2, job]}")),
    "blocks without end": lambda: _blocks(12_000),
    "a long chain of variables": lambda: (
        "variables:\n"
        + "".join(f"  V{n}: $V{(n + 1) % 3000}$V{(n + 2) % 3000}\n" for n in range(3_000))
        + "j: {script: x}"
    ),
}
"""Name to the text, made when it is wanted."""
