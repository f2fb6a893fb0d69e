"""What people call a pipeline."""


def named_pipeline(pipeline_id: int) -> str:
    """A pipeline as people read it: by its id, which its page, REST, the command line and Temporal know it by.

    Its number in its project (`iid`) is told only beside this, and never alone.
    """
    return f"pipeline {pipeline_id}"
