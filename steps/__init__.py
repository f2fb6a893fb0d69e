"""The step runner: runs steps of CI jobs where it stands, and can be left and found again (docs/steps.md)."""
