"""What consumers of webhooks find missing. URL, TOKEN in the environment; the server needs PERDURE_OUTBOUND_NETWORKS=127.0.0.0/8.

Expected of GitLab (lib/gitlab/data_builder/pipeline.rb, push.rb; app/services/git/tag_hooks_service.rb):
  1 Pipeline Hook of a merge request's pipeline: object_attributes.ref == "topic", merge_request.iid == 1
  2 Tag Push Hook: commits == [the tag's commit], total_commits_count == 1
  3 project.git_ssh_url, repository.git_ssh_url, object_attributes.source.ssh_url are texts, never null
  4 note_events: true is kept, and a note on a merge request sends a Note Hook
"""
import http.server, json, os, sys, threading, time, urllib.request
URL, TOKEN = os.environ["URL"] + "/api/v4", os.environ["TOKEN"]
GOT, BAD = [], []
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        GOT.append((self.headers["X-Gitlab-Event"], json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        self.send_response(200); self.end_headers()
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "21011"))), Hook)
threading.Thread(target=server.serve_forever, daemon=True).start()
def call(path, body):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {"PRIVATE-TOKEN": TOKEN, "Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))
def first(kind, fits=lambda body: True):
    for _ in range(100):
        for event, body in list(GOT):
            if event == kind and fits(body): return body
        time.sleep(.2)
def check(name, right, seen):
    print("OK   " if right else "WRONG", name, "" if right else json.dumps(seen)[:200]); BAD.append(name) if not right else None
n = f"h{int(time.time())}"; p = call("/projects", {"name": n, "path": n})["id"]
def commit(branch, name, **more): return call(f"/projects/{p}/repository/commits", {"branch": branch, "commit_message": "m", "actions": [{"action": "create", "file_path": name, "content": "j: {script: [echo], rules: [{when: always}]}\n"}], **more})
commit("main", ".gitlab-ci.yml")
hook = call(f"/projects/{p}/hooks", {"url": f"http://127.0.0.1:{server.server_port}/", "push_events": True, "tag_push_events": True, "pipeline_events": True, "merge_requests_events": True, "note_events": True})
commit("topic", "a", start_branch="main"); call(f"/projects/{p}/repository/tags", {"tag_name": "v1", "ref": "main"})
mr = call(f"/projects/{p}/merge_requests", {"source_branch": "topic", "target_branch": "main", "title": "t"})
call(f"/projects/{p}/merge_requests/{mr['iid']}/notes", {"body": "/review"})
b = first("Pipeline Hook", lambda x: x["object_attributes"]["source"] == "merge_request_event")
check("1 ref of a merge request's pipeline", b["object_attributes"]["ref"] == "topic", b["object_attributes"]["ref"])
check("1 merge_request of a merge request's pipeline", (b["merge_request"] or {}).get("iid") == 1, b["merge_request"])
b = first("Tag Push Hook"); check("2 commit of a tag", b["total_commits_count"] == 1 and [c["id"] for c in b["commits"]] == [b["checkout_sha"]], [b["commits"], b["total_commits_count"]])
b = first("Push Hook"); check("3 ssh address of a push", isinstance(b["project"]["git_ssh_url"], str) and isinstance(b["repository"]["git_ssh_url"], str), b["project"]["git_ssh_url"])
b = first("Merge Request Hook"); check("3 ssh address of a merge request", isinstance(b["object_attributes"]["source"]["ssh_url"], str), b["object_attributes"]["source"]["ssh_url"])
check("4 note_events is kept", hook["note_events"] is True, hook["note_events"])
check("4 Note Hook", first("Note Hook") is not None, sorted({event for event, _ in GOT}))
sys.exit(bool(BAD))
