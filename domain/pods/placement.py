"""Which pod has what a path or a name says, and whose word counts about a person (docs/decisions/0035)."""

from domain.pods.directory import Directory, PodState


def home_of(directory: Directory, path: str) -> int | None:
    """The number of the pod in which the organisation or the person lives whom a path begins with; None: nobody's."""
    return directory.organisations.get(path.strip("/").partition("/")[0].lower())


def other_pod_of(directory: Directory, own_number: int, path: str) -> int | None:
    """The number of the other pod that has what a path names; None where it is this pod's own, or nobody knows it."""
    home = home_of(directory, path)
    if home is None or home == own_number:
        return None
    pod = directory.by_number.get(home)
    return None if pod is None or pod.state is PodState.REMOVED else home


def may_speak_for(directory: Directory, speaker: int, own_number: int, username: str, *, visits_speaker: bool) -> bool:
    """Whether a pod is believed that somebody called `username` acts there.

    It is their home; or their home is this pod, which knows that they visit the other one. One name means one person.
    """
    home = home_of(directory, username)
    return home == speaker or (home == own_number and visits_speaker)
