"""(b) A table of pending jobs for all pods: a runner's pod chooses there, and claims at the pod that has the job.

For each entry one waiting runner is woken, by whatever means and at no cost. It looks, claims, and looks again where
the claim was in vain, until it has a job or finds no entry. So never fewer look than there are entries nobody has.
"""

from collections.abc import Callable
from itertools import islice

from bench.pods_simulation.clock import Act
from bench.pods_simulation.load import Job
from bench.pods_simulation.site import Site


class Entry:
    """A pending job in the table."""

    __slots__ = ("done", "job", "taken")

    def __init__(self, job: Job, done: Act) -> None:
        self.job, self.done, self.taken = job, done, False


class Table:
    """The table with its station; `marks` says whether who chooses an entry hides it from others."""

    def __init__(self, site: Site, marks: bool) -> None:
        self._site, self._marks = site, marks
        (self._station,) = site.stations(1, site.assumed.central_cores)
        self._visible: dict[Entry, None] = {}

    def hand(self, job: Job, done: Act) -> None:
        """The pod writes the entry."""
        clock, costs = self._site.clock, self._site.costs
        if self._site.pods[job.pod].lost:
            return
        entry = Entry(job, done)
        clock.after(costs.hop, lambda: self._station.take(costs.write, lambda: self.show(entry)))

    def show(self, entry: Entry) -> None:
        """Seen by all from now on; one runner is woken."""
        if not self._station.lost:
            self._visible[entry] = None
            self._look()

    def _look(self) -> None:
        costs = self._site.costs
        self._station.take(costs.look + (costs.write if self._marks else 0), self._choose)

    def _choose(self) -> None:
        oldest = list(islice(self._visible, self._site.assumed.choice))
        if not oldest:
            return
        entry = self._site.random.choice(oldest)
        if self._marks:
            del self._visible[entry]
        self._site.clock.after(self._site.costs.hop, lambda: self._claim(entry))

    def _claim(self, entry: Entry) -> None:
        self._site.claims += 1
        site, pod = self._site, self._site.pods[entry.job.pod]
        if pod.lost:
            self._put_back(entry)
        else:
            pod.take(site.costs.request, lambda: self._verdict(entry))

    def _put_back(self, entry: Entry) -> None:
        """Nobody answers: hidden for a while, and its runner waits for being woken; others who chose it look again."""
        site = self._site
        self._visible.pop(entry, None)
        if entry.taken:
            site.clock.after(site.assumed.away, self._nobody)
            return
        entry.taken = True
        site.in_vain += 1
        site.clock.after(site.assumed.again, lambda: self._once_more(entry))

    def leave(self, job: Job) -> None:
        """An entry of a pod that is lost: it was written before, and nobody has taken it."""
        self.show(Entry(job, lambda: None))

    def _once_more(self, entry: Entry) -> None:
        entry.taken = False
        self.show(entry)

    def _verdict(self, entry: Entry) -> None:
        if entry.taken:
            self._nobody()
            return
        entry.taken = True
        self._site.clock.after(self._site.costs.hop, entry.done)
        self._station.take(self._site.costs.write, lambda: self._remove(entry))

    def _remove(self, entry: Entry) -> None:
        self._visible.pop(entry, None)

    def _nobody(self) -> None:
        self._site.in_vain += 1
        self._look()


def global_table(site: Site) -> Callable[[Job, Act], None]:
    """Whoever looks sees all that is pending; two may claim one job, and one of them in vain."""
    return _table(site, marks=False)


def marked_table(site: Site) -> Callable[[Job, Act], None]:
    """Whoever looks marks what they chose, for one write more; a claim is in vain only where a pod is away."""
    return _table(site, marks=True)


def _table(site: Site, marks: bool) -> Callable[[Job, Act], None]:
    site.renewals_at_pods()
    table = Table(site, marks)
    site.left_behind = table.leave
    return table.hand
