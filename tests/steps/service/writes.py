"""`python writes.py SEED BYTES`: write so many bytes, which the seed gives, to both streams, in pieces of all sizes."""

import hashlib
import os
import random
import sys


def content(seed: str, size: int) -> bytes:
    found = bytearray()
    number = 0
    while len(found) < size:
        found += hashlib.sha512(f"{seed} {number}".encode()).digest() + (b"\n\n" if number % 7 == 0 else b"")
        number += 1
    return bytes(found[:size])


def main() -> None:
    seed, size = sys.argv[1], int(sys.argv[2])
    chance = random.Random(seed)
    left = {1: content(f"out {seed}", size), 2: content(f"err {seed}", size)}
    while any(left.values()):
        stream = chance.choice([one for one, data in left.items() if data])
        piece = chance.randrange(1, 20_000)
        done = os.write(stream, left[stream][:piece])
        left[stream] = left[stream][done:]


if __name__ == "__main__":
    main()
