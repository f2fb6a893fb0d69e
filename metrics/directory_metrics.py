"""What the directory of pods counts of the requests that it answers."""

from metrics import names
from metrics.process_metrics import ProcessMetrics


class DirectoryMetrics(ProcessMetrics):
    """The metrics of one directory. Calls are its routes, so there are few."""

    def __init__(self) -> None:
        """Nothing was answered yet."""
        super().__init__("directory")
        self._requests = names.DIRECTORY_REQUESTS.counter(self.registry)
        self._duration = names.DIRECTORY_DURATION.histogram(self.registry)

    def answered(self, call: str, status: str, seconds: float) -> None:
        """A request was answered; 499 is the status where nobody waited for it any more."""
        self._requests.labels(call, status).inc()
        self._duration.labels(call).observe(seconds)
