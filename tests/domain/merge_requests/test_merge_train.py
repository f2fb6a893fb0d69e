"""Merge trains: what follows from each state, and what must hold whatever happens in which order."""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.merge_requests.merge_train import Build, Car, Drop, Merge, Outdate, Train, next_steps


def test_an_empty_train_asks_for_nothing() -> None:
    assert next_steps(Train("t")) == ()


def test_the_first_is_built_upon_the_target_and_the_next_upon_it() -> None:
    assert next_steps(Train("t", [Car(1), Car(2)])) == (Build(1, "t"),)
    built = Car(1, "t", "a", "running")
    assert next_steps(Train("t", [built, Car(2)])) == (Build(2, "a"),)


def test_only_the_first_merges_and_only_what_has_passed() -> None:
    first, second = Car(1, "t", "a", "running"), Car(2, "a", "b", "success")
    assert next_steps(Train("t", [first, second])) == ()
    passed = Car(1, "t", "a", "success")
    assert next_steps(Train("t", [passed, second])) == (Merge(1, "t", "a"),)
    assert next_steps(Train("a", [second])) == (Merge(2, "a", "b"),)


def test_a_failure_drops_the_car_and_what_is_behind_is_built_anew() -> None:
    cars = [Car(1, "t", "a", "running"), Car(2, "a", "b", "failed"), Car(3, "b", "c", "success"), Car(4, "c", "d", "x")]
    assert next_steps(Train("t", cars)) == (
        Drop(2, "its pipeline on the merge train ended as failed"),
        Build(3, "a"),
        Outdate(4),
    )


def test_a_failure_upon_what_will_not_come_is_no_failure() -> None:
    assert next_steps(Train("moved", [Car(1, "t", "a", "failed")])) == (Build(1, "moved"),)


def test_a_push_to_the_target_rebuilds_all() -> None:
    cars = [Car(1, "t", "a", "success"), Car(2, "a", "b", "success")]
    assert next_steps(Train("u", cars)) == (Build(1, "u"), Outdate(2))


def test_a_car_that_is_refused_leaves_without_the_others_waiting() -> None:
    cars = [Car(1, "t", "a", "success", refusal="closed"), Car(2)]
    assert next_steps(Train("t", cars)) == (Drop(1, "closed"), Build(2, "t"))


def test_only_so_many_are_tested_at_once() -> None:
    cars = [Car(1, "t", "a", "running"), Car(2, "a", "b", "running"), Car(3)]
    assert next_steps(Train("t", cars), parallel=2) == ()
    assert next_steps(Train("t", [Car(1, "t", "a", "running"), Car(2)]), parallel=1) == ()


def test_one_that_is_being_merged_is_left_alone() -> None:
    cars = [Car(1, "t", "a", "success", merging=True), Car(2, "a", "b", "success"), Car(3)]
    assert next_steps(Train("t", cars)) == (Build(3, "b"),)
    assert next_steps(Train("a", cars)) == (Build(3, "b"),)


@dataclass
class Played:
    """A train that is carried out, with what the target got and what passed."""

    target: str = "t0"
    cars: list[Car] = field(default_factory=list)
    passed: set[str] = field(default_factory=set)
    merged: list[tuple[int, str]] = field(default_factory=list)
    bases: dict[str, str] = field(default_factory=dict)
    commits: int = 0

    def name(self) -> str:
        """A new commit."""
        self.commits += 1
        return f"c{self.commits}"

    def change(self, key: int, **values: Any) -> None:
        """A car as it is from now on."""
        self.cars = [replace(car, **values) if car.id == key else car for car in self.cars]

    def advance(self, most: int = 100) -> None:
        """Carry out steps; a kill lets it end after `most` of them."""
        for _ in range(100):
            steps = next_steps(Train(self.target, self.cars), parallel=3)
            for step in steps:
                if not most:
                    return
                most -= 1
                self.carry_out(step)
            if not steps:
                return
        raise AssertionError(f"the train never rests: {self.cars}")

    def carry_out(self, step: object) -> None:
        match step:
            case Drop(car=key):
                self.cars = [car for car in self.cars if car.id != key]
            case Outdate(car=key):
                self.change(key, base="", sha="", pipeline="")
            case Build(car=key, base=base):
                sha = self.name()
                self.bases[sha] = base
                self.change(key, base=base, sha=sha, pipeline="running")
            case Merge(car=key, base=base, sha=sha):
                if self.target == base:  # compare and swap
                    self.target = sha
                    self.merged.append((key, sha))
                    self.cars = [car for car in self.cars if car.id != key]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["board", "board", "end", "end", "end", "fail", "push", "leave", "refuse", "kill"]),
        st.integers(0, 5),
    ),
    max_size=40,
)


@settings(max_examples=500)
@given(EVENTS)
def test_the_target_gets_what_has_passed_in_the_order_of_the_train(events: list[tuple[str, int]]) -> None:
    played, boarded = Played(), 0
    pushed: set[str] = set()
    for event, number in events:
        car = played.cars[number % len(played.cars)] if played.cars else None
        if event == "board":
            boarded += 1
            played.cars.append(Car(boarded))
        elif event == "push":
            played.target = played.name()
            pushed.add(played.target)
        elif event in {"end", "fail"} and car is not None and car.pipeline == "running":
            result = "success" if event == "end" else "failed"
            if result == "success":
                played.passed.add(car.sha)
            played.change(car.id, pipeline=result)
        elif event == "leave" and car is not None:
            played.cars.remove(car)
        elif event == "refuse" and car is not None:
            played.change(car.id, refusal="closed")
        played.advance(most=number if event == "kill" else 100)
    played.advance()

    assert [sha for _, sha in played.merged if sha not in played.passed] == []
    order = [key for key, _ in played.merged]
    assert order == sorted(order)
    for _, sha in played.merged:
        assert played.bases[sha] in {"t0", *pushed, *(merged for _, merged in played.merged)}
    # Nothing is left hanging: what is on the train is being tested upon what is before it, up to the limit.
    base = played.target
    for car in played.cars[:3]:
        assert (car.base, car.pipeline) == (base, "running") or car.pipeline == "success"
        base = car.sha
