"""A deterministic generator of synthetic `.gitlab-ci.yml` files.

    python -m bench.gen_ci_yaml N [FILE]            N jobs, mixed features
    python -m bench.gen_ci_yaml --trivial N [FILE]  N jobs `script: ["true"]` over two stages

N (10 or more) is the number of jobs after `parallel:matrix` is expanded. A block of ten jobs of the mixed kind is one
chain through the stages:

    prep  1 job   plain                      (rules, variables)
    build 1 job   parallel:matrix of 2       (extends)          -> counts 2
    lint  2 jobs  needs: []                  (extends)
    test  3 jobs  needs: prep + build        (extends, rules)
    pack  1 job   needs: the 3 tests         (extends, artifacts)
    ship  1 job   needs: pack, optional need (extends, rules)

A last partial block is filled with plain lint jobs. No chance, no clock.
"""

import sys
from pathlib import Path

HEAD = """\
stages: [prep, build, test, package, deploy]

default:
  retry: 1
  interruptible: true

variables:
  ROOT: "ci"
  LEVEL: "3"
  TAGNAME: "$ROOT-$LEVEL"

workflow:
  rules:
    - if: $CI_COMMIT_TAG
    - if: $CI_COMMIT_BRANCH

.base:
  variables:
    LANG: C
    MODE: fast
  before_script:
    - echo "start $CI_JOB_NAME"

.rules:
  rules:
    - if: $CI_COMMIT_TAG == "never"
      when: never
    - if: $CI_COMMIT_BRANCH =~ /^(main|master|release-.*)$/ && $LEVEL == "3"
      variables:
        ON_MAIN: "yes"
    - when: on_success

.build:
  extends: .base
  stage: build
  script:
    - echo "build $COMPONENT $ARCH"

.test:
  extends: [.base, .rules]
  stage: test
  variables:
    MODE: thorough
  script:
    - echo "test $COMPONENT $SUITE"
"""


def block(number: int) -> str:
    """Ten expanded jobs."""
    d = f"{number:04d}"
    out = [
        f"""
prep-{d}:
  stage: prep
  variables: {{COMPONENT: "c{d}"}}
  rules:
    - if: $CI_COMMIT_BRANCH
    - when: never
  script: ["true"]

build-{d}:
  extends: .build
  variables: {{COMPONENT: "c{d}"}}
  needs: ["prep-{d}"]
  parallel:
    matrix:
      - ARCH: [amd64, arm64]
"""
    ]
    out.extend(
        f"""
lint-{d}-{i}:
  extends: .base
  stage: test
  needs: []
  variables: {{COMPONENT: "c{d}", TOOL: "lint{i}"}}
  script:
    - echo "lint $COMPONENT with $TOOL"
"""
        for i in (1, 2)
    )
    out.extend(
        f"""
test-{d}-{s}:
  extends: .test
  variables: {{COMPONENT: "c{d}", SUITE: "{s}"}}
  needs:
    - job: prep-{d}
    - job: build-{d}
      artifacts: false
"""
        for s in ("unit", "api", "e2e")
    )
    out.append(f"""
pack-{d}:
  extends: .base
  stage: package
  needs: ["test-{d}-unit", "test-{d}-api", "test-{d}-e2e"]
  script:
    - echo "pack c{d}"
  artifacts:
    paths: ["out/{d}/"]
    expire_in: 1 day

ship-{d}:
  extends: [.base, .rules]
  stage: deploy
  needs:
    - pack-{d}
    - job: lint-{d}-1
      optional: true
  script:
    - echo "ship c{d} as $TAGNAME"
  environment:
    name: env/{d}
""")
    return "".join(out)


def mixed(n: int) -> str:
    """A configuration of `n` jobs with mixed features."""
    full, rest = divmod(n, 10)
    parts = [HEAD] + [block(b) for b in range(full)]
    parts.extend(f'\nextra-{i}:\n  extends: .base\n  stage: test\n  script: ["true"]\n' for i in range(rest))
    return "".join(parts)


def trivial(n: int) -> str:
    """A configuration of `n` jobs that do nothing, half of them in each of two stages."""
    parts = ["stages: [one, two]\n"]
    for i in range(n):
        stage = "one" if i < n // 2 else "two"
        parts.append(f'\nj{i:04d}:\n  stage: {stage}\n  script: ["true"]\n')
    return "".join(parts)


def chain(n: int) -> str:
    """A configuration of `n` jobs of which each needs the one before it."""
    jobs = (f'j{i:04d}: {{needs: [{f"j{i - 1:04d}" if i else ""}], script: ["true"]}}\n' for i in range(n))
    return "stages: [test]\n" + "".join(jobs)


def main(argv: list[str]) -> None:
    """Write a configuration to a file or to standard output."""
    make = mixed
    if argv and argv[0] == "--trivial":
        make, argv = trivial, argv[1:]
    if not argv:
        sys.exit(__doc__)
    text = make(int(argv[0]))
    if len(argv) > 1:
        Path(argv[1]).write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
