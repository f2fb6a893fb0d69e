"""Whether the cost of reading a hostile text grows with its size alone, in a fresh process: `NAME SIZE`."""

import sys

from tests.growth import assert_linear
from tests.security.hostile_texts import HOSTILE
from tests.security.test_cost_grows_linearly import work

if __name__ == "__main__":
    row = HOSTILE[sys.argv[1]]
    assert_linear(lambda size: work(row, size), int(sys.argv[2]))
