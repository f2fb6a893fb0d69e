"""Runs case files: `python -m tests.cases processing DIR --engine domain`, `python -m tests.cases config FILE.jsonl`.

Prints every case that went wrong and, as the last line, `N passed, N failed`; the exit code is 1 if anything failed.
"""

import argparse
import sys
from pathlib import Path

from tests.cases import config, processing
from tests.cases.report import Report


def main(arguments: list[str]) -> int:
    """Run what the command line asks for; give back the exit code."""
    report = _run(_read(arguments))
    print(report.text())
    return 1 if report.failed else 0


def _read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description="Run case files.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    scenarios = kinds.add_parser("processing", help="scenarios of pipelines, one YAML file each")
    scenarios.add_argument("path", type=Path)
    scenarios.add_argument("--engine", choices=sorted(processing.ENGINES), default="domain")
    texts = kinds.add_parser("config", help="configurations, one JSON object a line")
    texts.add_argument("path", type=Path)
    return parser.parse_args(arguments)


def _run(wanted: argparse.Namespace) -> Report:
    if wanted.kind == "processing":
        return processing.run_folder(wanted.path, processing.ENGINES[wanted.engine])
    return config.run_file(wanted.path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
