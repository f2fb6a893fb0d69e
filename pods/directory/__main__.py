"""Entry point: `python -m pods.directory`; with `--new-credentials` it writes new tokens before it starts."""

import argparse
import sys

import uvloop

from domain.errors import PerdureError
from files.process_log import configure_lines
from pods.directory.server import serve
from pods.directory_tokens import renew
from settings import Settings


def main() -> int:
    """Serve until told to end; 1 with a sentence where that cannot be."""
    parser = argparse.ArgumentParser(prog="python -m pods.directory", description="The directory of a cluster's pods.")
    parser.add_argument("--new-credentials", action="store_true", help="write new tokens; the old ones end")
    arguments = parser.parse_args()
    settings = Settings()
    configure_lines(settings.log_level)
    try:
        if arguments.new_credentials:
            renew(settings.home, settings.directory_url)
        uvloop.run(serve(settings))
    except (PerdureError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
