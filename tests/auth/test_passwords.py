"""Passwords: argon2id, and nobody is refused faster for being unknown."""

import time

from argon2 import PasswordHasher

from auth.passwords import MAX_LENGTH, SHORTEST, Passwords, fault_of


async def test_a_password_is_right_for_its_hash_only() -> None:
    passwords = Passwords()
    one, other = await passwords.hashed("correct horse"), await passwords.hashed("correct horse")
    assert one.startswith("$argon2id$")
    assert one != other
    assert await passwords.is_right(one, "correct horse")
    for wrong in ("correct horse ", "Correct horse", "", "x" * 255):
        assert not await passwords.is_right(one, wrong)
    assert not await passwords.is_right("nonsense", "correct horse")


async def test_who_has_no_password_is_refused_after_the_same_work() -> None:
    passwords = Passwords()
    known = await passwords.hashed("correct horse")

    async def work(against: str) -> float:
        times = []
        for _ in range(5):
            begin = time.process_time()
            assert not await passwords.is_right(against, "wrong horse")
            times.append(time.process_time() - begin)
        return min(times)

    assert 0.5 < await work("") / await work(known) < 2


async def test_a_hash_with_older_parameters_is_outdated() -> None:
    passwords = Passwords()
    older = PasswordHasher(time_cost=1, memory_cost=8192).hash("correct horse")
    assert await passwords.is_right(older, "correct horse")
    assert passwords.is_outdated(older)
    assert not passwords.is_outdated(await passwords.hashed("correct horse"))


def test_lengths() -> None:
    assert "too short" in fault_of("x" * (SHORTEST - 1))
    assert "too long" in fault_of("x" * (MAX_LENGTH + 1))
    assert fault_of("x" * SHORTEST) == fault_of("ä" * MAX_LENGTH) == ""
