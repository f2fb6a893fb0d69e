"""json_value.py FILE PATH OUTPUT: read a value from a JSON file."""

import json
import sys
from pathlib import Path


def main(file: str, path: str, output: str) -> None:
    """Write the value of FILE that the keys of PATH lead to."""
    value = json.loads(Path(file).read_text())
    for key in filter(None, path.split(".")):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (KeyError, IndexError, ValueError, TypeError):
            sys.exit(f"{file}: nothing is at {path!r}; there is no {key!r} in {json.dumps(value)[:80]}")
    text = value if isinstance(value, str) else json.dumps(value)
    with Path(output).open("a") as outputs:
        for name, one in (("text", text), ("value", [value])):
            outputs.write(json.dumps({"name": name, "value": one}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
