"""How tokens begin, as in GitLab: by that everybody sees what a token is."""

from typing import Final

PERSONAL: Final = "glpat-"
RUNNER: Final = "glrt-"
RUNNER_BY_REGISTRATION: Final = "glrtr-"
REGISTRATION: Final = "GR1348941"
TRIGGER: Final = "glptt-"
DEPLOY: Final = "gldt-"
JOB: Final = "glcbt-"

RANDOM: Final = (PERSONAL, RUNNER, RUNNER_BY_REGISTRATION, REGISTRATION, TRIGGER, DEPLOY)
"""Of those that are chance, and since there are pods name theirs (`domain.pods.routable_token`); a job's is signed."""
