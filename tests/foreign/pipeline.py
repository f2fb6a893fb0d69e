"""The pipeline of twenty jobs that every runner has to finish, and what has to become of each."""

from typing import Final

ALL: Final = 20

TEXT: Final = """
stages: [build, test, deploy]

default:
  tags: [foreign]

variables:
  NAME: world
  GREETING: "hello $NAME"
  # One of the runners would read its job in the file itself, and knows few keywords; without it, it uses what it got.
  CI_CONFIG_PATH: none
  GITLAB_PYTHON_RUNNER_COMPUTED: "1"
  GIT_DEPTH: "3"

compile:
  stage: build
  before_script:
    - mkdir -p out
  script:
    - seq 1 20000 > out/numbers.txt
    - cp source.txt out/
  artifacts:
    name: numbers
    paths: [out/]
    expire_in: 1 day

shard:
  stage: build
  parallel: 3
  script:
    - echo "$CI_NODE_INDEX of $CI_NODE_TOTAL" > "shard-$CI_NODE_INDEX.txt"
  artifacts:
    paths: ["shard-*.txt"]

unit:
  stage: test
  dependencies: [compile]
  script:
    - test "$(wc -l < out/numbers.txt)" = 20000
    - test "$(cat out/source.txt)" = "the source"
    - test ! -e shard-1.txt
    - for number in $(seq 1 3000); do echo "line $number of a log that needs several pieces"; done

gather:
  stage: test
  needs: [shard]
  script:
    - cat shard-1.txt shard-2.txt shard-3.txt > gathered.txt
  artifacts:
    paths: [gathered.txt]

alone:
  stage: test
  needs: []
  script:
    - test ! -e out
    - test ! -e shard-1.txt

broken:
  stage: test
  needs: []
  allow_failure: true
  script:
    - echo "about to fail"
    - exit 3

fragile:
  stage: test
  needs: []
  retry: 1
  script:
    - mkdir "$MARKS/fragile" || exit 0
    - echo "the first attempt fails"
    - exit 1

secret:
  stage: test
  needs: []
  script:
    - echo "the token is $CI_JOB_TOKEN"

greeting:
  stage: test
  needs: []
  variables:
    WHOLE: "$GREETING again"
  script:
    - test "$WHOLE" = "hello world again"
    - test "$CI_JOB_NAME" = greeting
    - test "$CI_COMMIT_REF_NAME" = main
    - test "$ASKED" = "by hand"

asking for more:
  stage: test
  needs: []
  script:
    - echo "<testsuite><testcase name='one'/></testsuite>" > report.xml
{extra}

approve:
  stage: test
  needs: []
  when: manual
  script:
    - echo "approved"

approved:
  stage: test
  needs: [approve]
  script:
    - echo "after the approval"

slow:
  stage: test
  needs: []
  allow_failure: true
  script:
    - for second in $(seq 1 45); do echo "second $second"; date +%s >> "$MARKS/seconds"; sleep 1; done
  after_script:
    - touch "$MARKS/cleaned"

salvage:
  stage: test
  needs: []
  allow_failure: true
  script:
    - echo "what is left" > rest.txt
    - exit 1
  artifacts:
    when: always
    paths: [rest.txt]

deploy:
  stage: deploy
  needs: [compile]
  script:
    - cksum out/numbers.txt

always:
  stage: deploy
  when: always
  script:
    - echo "always"

cleanup:
  stage: deploy
  when: on_failure
  script:
    - echo "never"

by exit code:
  stage: deploy
  script:
    - exit 42
  allow_failure:
    exit_codes: [42]
"""

STATUSES: Final = {
    "compile": "success",
    "shard 1/3": "success",
    "shard 2/3": "success",
    "shard 3/3": "success",
    "unit": "success",
    "gather": "success",
    "alone": "success",
    "broken": "failed",
    "fragile": "success",
    "secret": "success",
    "greeting": "success",
    "asking for more": "success",
    "approve": "success",
    "approved": "success",
    "slow": "canceled",
    "salvage": "failed",
    "deploy": "success",
    "always": "success",
    "cleanup": "skipped",
    "by exit code": "failed",
}

FILES: Final = {
    "compile": {
        "out/numbers.txt": "".join(f"{number}\n" for number in range(1, 20001)),
        "out/source.txt": "the source\n",
    },
    "shard 2/3": {"shard-2.txt": "2 of 3\n"},
    "gather": {"gathered.txt": "1 of 3\n2 of 3\n3 of 3\n"},
    "salvage": {"rest.txt": "what is left\n"},
}
"""What the archives of some jobs hold, to the byte."""
