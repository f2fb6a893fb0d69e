"""Packs the calculator into one file that Python can run, the same bytes each time, and writes its SHA-256 beside it.

`python3 ci/package.py dist/calculator.pyz`
"""

import hashlib
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START = "import sys\n\nfrom calculator.cli import main\n\nsys.exit(main())\n"
EPOCH = (1980, 1, 1, 0, 0, 0)


def main():
    """Write archive and checksum."""
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.glob("calculator/*.py")}
    with output.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in sorted({**sources, "__main__.py": START}.items()):
                archive.writestr(zipfile.ZipInfo(name, EPOCH), text)
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    Path(f"{output}.sha256").write_text(f"{digest}  {output.name}\n", encoding="utf-8")
    print(f"{output}: {output.stat().st_size} bytes, sha256 {digest}")


if __name__ == "__main__":
    main()
