"""Moa, the language of `${{ }}`: expressions that are evaluated where a job runs."""
