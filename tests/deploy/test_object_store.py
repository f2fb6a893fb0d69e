"""The container set's bucket is reached by a user who is not the store's administrator.

MinIO itself is not run here: only what the files say is looked at.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.deploy.test_compose import ROOT, compose

FOLDER = ROOT / "deploy" / "object-store"
BUCKET = "arn:aws:s3:::perdure"


def statements(effect: str) -> list[dict[str, Any]]:
    """Those of the policy."""
    policy = json.loads((FOLDER / "policy.json").read_text())
    return [statement for statement in policy["Statement"] if statement["Effect"] == effect]


def test_the_user_may_do_what_the_store_needs_and_nothing_else() -> None:
    """Named one by one: a pattern would take in what comes with later versions of the store."""
    allowed = {(resource, action) for s in statements("Allow") for resource in s["Resource"] for action in s["Action"]}
    of_bucket = {"s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads"}
    of_objects = {
        "s3:AbortMultipartUpload",
        "s3:DeleteObject",
        "s3:GetObject",
        "s3:ListMultipartUploadParts",
        "s3:PutObject",
    }
    wanted = {(BUCKET, action) for action in of_bucket} | {(f"{BUCKET}/*", action) for action in of_objects}
    assert allowed == wanted
    assert compose()["services"]["api"]["environment"]["PERDURE_OBJECT_STORE"].startswith("s3://perdure/")


def test_the_user_may_not_make_itself_another_key() -> None:
    """MinIO lets everybody do that, and change the own password, unless it is denied."""
    assert [statement["Action"] for statement in statements("Deny")] == [["admin:*"]]


def test_perdure_has_another_key_than_the_administrator() -> None:
    """What the processes that jobs speak to know is the user's."""
    services = compose()["services"]
    for name, service in services.items():
        text = json.dumps(service.get("environment", {}))
        assert ("OBJECT_STORE_ADMIN" in text) == (name in {"object-store", "bucket"}), name
    for name in ("api", "worker"):
        environment = services[name]["environment"]
        assert environment["AWS_ACCESS_KEY_ID"].startswith("${OBJECT_STORE_KEY:")
        assert environment["AWS_SECRET_ACCESS_KEY"].startswith("${OBJECT_STORE_SECRET:")


def test_the_script_is_run_with_all_that_it_reads() -> None:
    """It stops at a variable that is not set."""
    service = compose()["services"]["bucket"]
    (mount,) = service["volumes"]
    source, place, mode = mount.split(":")
    script = FOLDER / Path(service["entrypoint"][1]).relative_to(place)
    assert (service["entrypoint"][0], ROOT / source, mode) == ("sh", FOLDER, "ro")
    assert set(re.findall(r"\$\{?([A-Z_]+)", script.read_text())) < service["environment"].keys()
    # `mc` finds the store by a variable that is named after it.
    assert service["environment"].keys() >= {
        f"MC_HOST_{name}" for name in re.findall(r"(\w+)/\$bucket", script.read_text())
    }


def test_the_administrator_s_name_is_refused_for_the_user() -> None:
    """Before anything is called; else the store says that it cannot add such a user."""
    same = {
        "OBJECT_STORE_KEY": "same",
        "OBJECT_STORE_ADMIN_KEY": "same",
        "OBJECT_STORE_SECRET": "x",
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        ["sh", str(FOLDER / "bucket.sh")], env=same, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 1
    assert "OBJECT_STORE_KEY must differ from OBJECT_STORE_ADMIN_KEY" in done.stderr


MC = """#!/bin/sh
case "$*" in
  "admin policy create"*) cat "$6" >"$SEEN/policy.json" ;;
  "--json admin user info"*) echo '{"policyName":"perdure"}' ;;
  *) cat </dev/null ;;
esac
echo "$*" >>"$SEEN/calls"
"""


def test_a_pod_s_user_reaches_the_bucket_of_the_pod_and_no_other(tmp_path: Path) -> None:
    """The script with an `mc` that notes what it is told."""
    (tmp_path / "mc").write_text(MC)
    (tmp_path / "mc").chmod(0o755)
    bucket = f"perdure-{tmp_path.name[-20:].replace('_', '-')}"
    given = {"OBJECT_STORE_KEY": "two", "OBJECT_STORE_ADMIN_KEY": "admin", "OBJECT_STORE_SECRET": "secret"}
    environment = given | {"OBJECT_STORE_BUCKET": bucket, "PATH": f"{tmp_path}:/usr/bin:/bin", "SEEN": str(tmp_path)}
    subprocess.run(["sh", str(FOLDER / "bucket.sh")], env=environment, check=True)
    Path(f"/tmp/policy-{bucket}.json").unlink()
    text = (FOLDER / "policy.json").read_text()
    assert (tmp_path / "policy.json").read_text() == text.replace(":::perdure", f":::{bucket}")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0] == f"mb --ignore-existing store/{bucket}"
    assert calls[-1] == f"admin policy attach store {bucket} --user two"
