"""Copies the packed calculator to a release folder if its checksum is right: `python3 ci/release.py ARCHIVE FOLDER`."""

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path


def main():
    """Exit 1 if the archive did not arrive or is not the one that was packed."""
    archive, folder = Path(sys.argv[1]), Path(sys.argv[2])
    checksum = Path(f"{archive}.sha256")
    if not archive.is_file() or not checksum.is_file():
        sys.exit(f"{archive} or its checksum is missing: the artifacts of the job package did not arrive")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != checksum.read_text().split()[0]:
        sys.exit(f"{archive} is damaged: its sha256 is {digest}")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(archive, folder / archive.name)
    note = {"sha256": digest, "commit": os.environ.get("CI_COMMIT_SHA", ""), "ref": os.environ.get("CI_COMMIT_REF_NAME", "")}
    (folder / "release.json").write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
    print(f"{folder / archive.name} is in place, sha256 {digest}")


if __name__ == "__main__":
    main()
