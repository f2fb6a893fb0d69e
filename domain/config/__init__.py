"""From the text of `.gitlab-ci.yml` to a plan: pure stages, each readable alone."""
