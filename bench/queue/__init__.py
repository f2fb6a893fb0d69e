"""The queue of jobs: what polls cost, and how fast and how soon jobs are handed out."""
