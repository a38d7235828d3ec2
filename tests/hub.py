"""A server on the loopback address that stands in for the Hub. It keeps Spaces, commits and tags in memory."""

import base64
import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from urllib.parse import unquote

from conftest import ROOT, load

from spanscore.examples import all_examples

TOKEN = "hf_secretsecretsecretsecretsecret"


class Space:
    """The commits of a Space, each a dict from path to bytes, and the names that point to them."""

    def __init__(self):
        self.commits = {"0" * 40: {}}
        self.branches, self.tags = {"main": "0" * 40}, {}

    def commit(self, files):
        name = hashlib.sha1(repr(sorted(files.items())).encode() + str(len(self.commits)).encode()).hexdigest()
        self.commits[name] = files
        self.branches["main"] = name
        return name

    def at(self, revision):
        """The files of a branch, a tag or a commit, and the name of the commit; None if there is none."""
        name = self.branches.get(revision) or self.tags.get(revision) or revision
        return (self.commits[name], name) if name in self.commits else None


class Hub:
    """The Spaces, and all requests: method, path, headers and body.

    Attributes
    ----------
    spaces : dict of str to Space
    requests : list of (str, str, dict, bytes)
    fails : dict of str to int
        From a part of a path to the status that its requests get; 503 only once.
    """

    def __init__(self, url):
        self.url, self.spaces, self.requests, self.fails = url, {}, [], {}

    def written(self):
        """The requests that change something: method and path."""
        return [
            f"{method} {path}"
            for method, path, _, _ in self.requests
            if method == "POST" and not re.search("preupload|validate", path)
        ]

    def add(self, name, folder):
        """Keep the files of a folder as a Space."""
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        self.spaces.setdefault(name, Space()).commit(files)
        return self.spaces[name]


class Handler(http.server.BaseHTTPRequestHandler):
    hub = None

    def do_GET(self):
        self.answer_request(b"")

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer_request(body)

    def answer_request(self, body):
        path = unquote(self.path.split("?")[0])
        self.hub.requests.append((self.command, path, dict(self.headers), body))
        for part, status in list(self.hub.fails.items()):
            if part in path:
                if status == 503:
                    del self.hub.fails[part]
                return self.answer({"error": "refused"}, status)
        if self.command == "POST" and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.answer({"error": "Invalid credentials"}, 401)
        if path == "/api/repos/create":
            given = json.loads(body)
            name = f"{given['organization']}/{given['name']}" if given.get("organization") else given["name"]
            assert given["type"] == "space" and given["sdk"] == "gradio"
            self.hub.spaces[name] = Space()
            return self.answer({"url": f"{self.hub.url}/spaces/{name}", "id": name})
        if path == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        found = re.fullmatch(r"(?:/api)?/spaces/([^/]+/[^/]+)(?:/(\w+)(?:/([^/]+))?(?:/(.*))?)?", path)
        space = self.hub.spaces.get(found[1]) if found else None
        if space is None:
            return self.answer({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        return getattr(self, f"answer_{found[2] or 'info'}")(space, found[3], found[4], body)

    def answer(self, value, status=200, headers=()):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(data)), **dict(headers)}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def answer_info(self, space, revision, rest, body):
        self.answer({"id": "space", "sha": space.branches["main"], "siblings": [], "tags": []})

    def answer_refs(self, space, revision, rest, body):
        branches, tags = (
            [{"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": commit} for name, commit in named.items()]
            for kind, named in (("heads", space.branches), ("tags", space.tags))
        )
        self.answer({"branches": branches, "tags": tags, "converts": []})

    def answer_tree(self, space, revision, rest, body):
        listed = []
        for path, data in space.at(revision)[0].items():
            name = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            listed.append({"type": "file", "oid": name, "size": len(data), "path": path})
            if path.endswith(".png"):  # the Hub keeps binary files by another hash
                sha = hashlib.sha256(data).hexdigest()
                listed[-1] |= {"oid": "0" * 40, "lfs": {"oid": sha, "size": len(data), "pointerSize": 1}}
        self.answer(listed)

    def answer_preupload(self, space, revision, rest, body):
        files = json.loads(body)["files"]
        self.answer({"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]})

    def answer_commit(self, space, revision, rest, body):
        files = dict(space.at(revision)[0]) or {".gitattributes": b"*.png filter=lfs\n"}
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        name = space.commit(files)
        self.answer({"commitUrl": f"{self.hub.url}/spaces/a/b/commit/{name}", "commitOid": name, "success": True})

    def answer_tag(self, space, revision, rest, body):
        tag = json.loads(body)["tag"]
        if tag in space.tags:
            return self.answer({"error": "Tag reference exists already"}, 409)
        space.tags[tag] = space.at(revision)[1]
        return self.answer({})

    def answer_resolve(self, space, revision, rest, body):
        found = space.at(revision)
        if found is None or rest not in found[0]:
            return self.answer({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
        data = found[0][rest]
        return self.answer(
            data,
            200,
            {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": found[1], "Accept-Ranges": "none"},
        )

    def log_message(self, *args):
        pass


@contextmanager
def running():
    """Start a Hub, and stop it in the end."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("HubHandler", (Handler,), {}))
    server.RequestHandlerClass.hub = hub = Hub(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


# --- loading ----------------------------------------------------------------------------------------------------------

LOAD = """
import json, sys
import evaluate
sys.path.insert(0, {root!r})
from spanscore.examples import all_examples
evaluate.utils.logging.set_verbosity_error()
example = all_examples()[{index}]
predictions, references = example.read()
metric = evaluate.load(f"someone/{{example.benchmark.name}}_metric", example.task, **{more!r})
print(json.dumps(metric.compute(predictions=predictions, references=references, **example.arguments())))
"""


def load_from(hub, example, home, **more):
    """Score an example with the metric of the Space `someone/<name>_metric`, in a process with an empty cache."""
    script = LOAD.format(index=all_examples().index(example), more=more, root=str(ROOT))
    environment = {**os.environ, "HF_HOME": str(home), "HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=home, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def result_of(example):
    """Score an example with the metric of the checkout."""
    predictions, references = example.read()
    metric = load(example.benchmark.name, example.task)
    result = metric.compute(predictions=predictions, references=references, **example.arguments())
    return json.loads(json.dumps(result))
