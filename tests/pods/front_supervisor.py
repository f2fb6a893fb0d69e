"""A supervisor of nothing but the front, by the settings of its environment."""

import asyncio
import logging

from pods.run_folder import RunFolder
from pods.stack import FRONT, stack
from pods.supervisor import supervise
from settings import Settings


def main() -> None:
    """Supervise until a signal ends it."""
    logging.basicConfig(level="INFO")
    settings = Settings()
    asyncio.run(supervise([child for child in stack(settings) if child.name == FRONT], RunFolder(settings.home)))


if __name__ == "__main__":
    main()
