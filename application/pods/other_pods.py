"""Where what a path names lives, as far as this pod has heard."""

from application.services import Services
from domain.errors import Unavailable
from domain.pods.directory import Directory, IdKind, Pod, PodState
from domain.pods.placement import home_of, other_pod_of


def known_directory(services: Services) -> Directory | None:
    """The directory as it was last heard of; None in an installation of one pod, and before it was heard of."""
    return services.cluster.directory if services.cluster is not None else None


def other_pod(services: Services, path: str) -> int | None:
    """The number of the other pod that has a project; None for one of this pod, or that nobody knows."""
    directory = known_directory(services)
    return None if directory is None else other_pod_of(directory, services.settings.pod_number, path)


def pod_of_project(services: Services, project_id: int) -> int | None:
    """The number of the other pod that has the project with this id; None for one of this pod, or of none."""
    return pod_of_id(services, project_id, IdKind.PROJECT)


def pod_of_id(services: Services, key: int, kind: IdKind) -> int | None:
    """The number of the other pod that has what this id is of; None for one of this pod, or of none."""
    directory = known_directory(services)
    if directory is None:
        return None
    number = directory.of_id(key, kind)
    pod = directory.by_number.get(number)
    is_other = number != services.settings.pod_number and pod is not None and pod.state is not PodState.REMOVED
    return number if is_other else None


def require_places(services: Services, pod: Pod, theirs: str, ours: str) -> Directory:
    """A pod speaks for a project of its own, and asks for one of ours; `theirs` and `ours` are full paths.

    Raises `Unavailable`, and not an error that lasts: somebody's copy of the directory may be older.
    """
    directory = known_directory(services)
    if directory is None or home_of(directory, theirs) != pod.number:
        raise Unavailable(f"The organisation of {theirs} is not known to be in pod {pod.name}.")
    if home_of(directory, ours) not in {None, services.settings.pod_number}:
        raise Unavailable(f"The organisation of {ours} is in another pod.")
    return directory
