"""Keys of the objects that Perdure itself names in the store."""


def trace_key(project_id: int, job_id: int, generation: int) -> str:
    """Where the log of a job lies in the store."""
    return f"projects/{project_id}/jobs/{job_id}/trace-{generation}.log"


def trace_index_key(project_id: int, job_id: int, generation: int) -> str:
    """Where the index of that log lies; it can be made anew from the log."""
    return f"projects/{project_id}/jobs/{job_id}/trace-{generation}.index"


def secure_file_key(project_id: int, unique: str) -> str:
    """Where a secure file of a project lies in the store, sealed; `unique` is never used again."""
    return f"projects/{project_id}/secure_files/{unique}"


def upload_key(project_id: int, unique: str) -> str:
    """Where a file that somebody put beside a project lies in the store; `unique` is never used again."""
    return f"projects/{project_id}/uploads/{unique}"
