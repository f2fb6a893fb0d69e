"""The ways in which a pending job finds its runner: which stations work for it, one after the other."""

from collections.abc import Callable, Mapping
from typing import Final

from bench.pods_simulation.clock import Act, Station
from bench.pods_simulation.global_table import global_table, marked_table
from bench.pods_simulation.load import Job
from bench.pods_simulation.site import Site

Hand = Callable[[Job, Act], None]
"""Begins to hand out a job that is pending now; the act is called when its runner has it."""


def pod_local(site: Site) -> Hand:
    """(a) The pod hands out its own."""
    site.renewals_at_pods()

    def hand(job: Job, done: Act) -> None:
        site.pods[job.pod].take(site.costs.claim, lambda: site.clock.after(site.costs.hop, done))

    return hand


def one_daemon(site: Site) -> Hand:
    """(c) Pods tell one daemon what is pending; it chooses, and gets what the runner is to have from the pod."""
    (daemon,) = site.stations(1, site.assumed.central_cores)
    site.stream(site.connections / site.assumed.held, site.costs.renewal, lambda: daemon)
    return _by_daemon(site, lambda _: daemon)


def sharded_daemon(site: Site) -> Hand:
    """(d) The same with shards by organisation; a runner waits at all of them, since its next job may be in any."""
    count = site.assumed.shards
    shards = site.stations(count, site.assumed.central_cores // count)
    for shard in shards:
        site.stream(site.connections / site.assumed.held, site.costs.renewal, lambda shard=shard: shard)  # type: ignore[misc]
    return _by_daemon(site, lambda job: shards[job.shard])


def podded_daemon(site: Site) -> Hand:
    """(e) A daemon beside each pod, with one of its two cores."""
    site.pods = [Station(site.clock, site.assumed.pod_cores - 1, site.random) for _ in site.pods]
    daemons = site.stations(len(site.pods), 1)
    for share, daemon in zip(site.load.shares, daemons, strict=True):
        rate = share * site.connections / site.assumed.held
        site.stream(rate, site.costs.renewal, lambda daemon=daemon: daemon)  # type: ignore[misc]
    return _by_daemon(site, lambda job: daemons[job.pod])


def _by_daemon(site: Site, of: Callable[[Job], Station]) -> Hand:
    costs, clock = site.costs, site.clock

    def hand(job: Job, done: Act) -> None:
        pod, daemon = site.pods[job.pod], of(job)

        def chosen() -> None:
            clock.after(costs.hop, lambda: pod.take(costs.request, lambda: clock.after(costs.hop, done)))

        def noted() -> None:
            daemon.take(costs.claim, chosen)

        clock.after(costs.hop, lambda: daemon.take(costs.request, noted))

    return hand


def pushed(site: Site) -> Hand:
    """(f) One daemon with a connection to each pod and runner: pods push what is pending, and it pushes that on."""
    (daemon,) = site.stations(1, site.assumed.central_cores)
    costs, clock = site.costs, site.clock
    site.stream(site.connections / site.assumed.ping, costs.frame, lambda: daemon)

    def hand(job: Job, done: Act) -> None:
        def chosen() -> None:
            clock.after(costs.hop, lambda: site.pods[job.pod].take(costs.request, told))

        def told() -> None:
            clock.after(costs.hop, lambda: daemon.take(costs.frame, lambda: clock.after(costs.hop, done)))

        clock.after(costs.hop, lambda: daemon.take(costs.frame + costs.claim_in_database, chosen))

    return hand


WAYS: Final[Mapping[str, Callable[[Site], Hand]]] = {
    "pod local": pod_local,
    "two-phase": global_table,
    "two-phase, marked": marked_table,
    "one daemon": one_daemon,
    "sharded daemon": sharded_daemon,
    "podded daemon": podded_daemon,
    "push": pushed,
}
"""Name to what builds it."""
