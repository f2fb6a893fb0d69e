"""The server, whose pages look again after an hour alone: what they show sooner somebody has told them."""

from typing import Final

import worker
from api.pages.frame import live

_HOUR: Final = 3_600.0


if __name__ == "__main__":
    vars(live)["RECHECK"] = _HOUR
    worker.main()
