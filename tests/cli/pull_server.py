"""A hub for tests of 'ocelli pull': serves the repositories of a folder over HTTP, well or badly.

Usage: pull_server.py ROOT PORTS LOG [CERTIFICATE]
ROOT/OWNER/NAME/... are the files of the repository OWNER/NAME. OWNER says how the server behaves (see
below); "good" is a good one. Two ports are opened, as a hub and the host that it keeps large files on;
"HUB STORE" is written to PORTS. LOG gets a line for each request: host, path, Range and Authorization.
With a CERTIFICATE, a file that holds its key too, the hub speaks TLS; the other host never does.
"""
import hashlib
import http.server
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse

root, ports_file, log_file = sys.argv[1:4]
certificate = sys.argv[4] if len(sys.argv) > 4 else None
lock = threading.Lock()
seen = {}  # how often something has been asked for


def times(*key):
    """How often this was called before with that key."""
    with lock:
        seen[key] = seen.get(key, 0) + 1
        return seen[key] - 1


def is_large(path, size):
    return path.endswith((".safetensors", ".gguf", ".bin")) or size > 1000000


def entry(folder, path):
    with open(os.path.join(folder, path), "rb") as file:
        data = file.read()
    out = {"type": "file", "path": path, "size": len(data)}
    out["oid"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    if is_large(path, len(data)):
        out["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    return out


tables = {}


def table(owner, name):
    folder = os.path.join(root, owner, name)
    if not os.path.isdir(folder):
        return None
    with lock:
        if folder not in tables:
            names = []
            for base, folders, files in os.walk(folder, followlinks=True):
                names += [os.path.relpath(os.path.join(base, f), folder) for f in folders + files]
            names.sort()
            tables[folder] = [
                {"type": "directory", "path": n, "size": 0, "oid": "0" * 40}
                if os.path.isdir(os.path.join(folder, n))
                else entry(folder, n)
                for n in names
            ]
        return json.loads(json.dumps(tables[folder]))


def spoil(name, files):
    """The lists of the owner "list": each name lies in its own way."""
    first = files[0]
    last = files[-1]
    evil = {
        "dots": "../evil.json", "inside": "a/../../evil.json", "absolute": "/tmp/evil.json",
        "backslash": "..\\evil.json", "newline": "evil\n.json", "empty": "", "slash": "a//b.json",
        "own": ".ocelli-pull.json", "partial": "config.json.partial", "hidden": "a/./evil.json",
        "long": "e" * 300 + ".json", "control": "LICENSE\u009b31m", "turned": "LICENSE\u202egnp",
        "isolated": "LICENSE\u2066x",
    }
    if name in evil:
        files.append(dict(first, path=evil[name]))
    elif name == "twice":
        files.append(first)
    elif name == "negative":
        last["size"] = -5
    elif name == "fraction":
        last["size"] = 5.5
    elif name == "enormous":
        last["size"] = 1e30
    elif name == "words":
        last["size"] = "many"
    elif name == "nohash":
        del last["oid"]
        last.pop("lfs", None)
    elif name == "badhash":
        last.setdefault("lfs", last)["oid"] = "../../etc"
    elif name == "untyped":
        del last["type"]
    elif name == "full":
        files[-1] = dict(last, path="model.safetensors", size=2**47,
                         lfs={"oid": "0" * 64, "size": 2**47})
    return files


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def say(self, status, body=b"", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with lock, open(log_file, "a", encoding="utf-8") as log:
            host = "hub" if self.server is hub else "store"
            log.write("%s %s %s %s\n" % (host, self.path, self.headers.get("Range", "-"),
                                         self.headers.get("Authorization", "-")))
        url = urllib.parse.urlsplit(self.path)
        parts = [urllib.parse.unquote(p) for p in url.path.split("/")[1:]]
        query = urllib.parse.parse_qs(url.query)
        try:
            if parts[:2] == ["api", "models"] and len(parts) == 6 and parts[4] == "tree":
                self.list_files(parts[2], parts[3], parts[5], query)
            elif len(parts) >= 5 and parts[2] == "resolve":
                self.file(parts[0], parts[1], parts[3], "/".join(parts[4:]))
            else:
                self.say(404, b"nothing here")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    # ---- the list of files

    def list_files(self, owner, name, revision, query):
        files = table(owner, name)
        if owner == "gated":
            token = self.headers.get("Authorization")
            if token != "Bearer hf_right":
                return self.say(401 if token is None else 403, b"no")
        if owner == "moved":
            where = self.path.replace("/moved/", "/good/")
            return self.say(307, b"moved", Location=where)
        if owner == "busy" and times("list", owner) < 2:
            return self.say(429, b"later", Retry_After="0")
        if owner == "down":
            return self.say(503, b"broken")
        if files is None or revision not in ("main", "refs/pr/1"):
            return self.say(404, b"no such thing")
        if owner == "list":
            special = {"notjson": b"<html>", "object": b"{}", "deep": b"[" * 100000,
                       "none": b"[]", "huge": b" " * (17 << 20),
                       "many": b"[" + b"0," * 1000000 + b"0]"}
            if name in special:
                return self.say(200, special[name])
            if name == "circle":
                return self.say(200, json.dumps(files[:1]).encode(),
                                Link='<%s>; rel="next"' % self.path)
            if name == "endless":
                cursor = int(query.get("cursor", ["0"])[0])
                link = "%s?cursor=%d" % (self.path.split("?")[0], cursor + 1)
                return self.say(200, b"[]", Link='<%s>; rel="next"' % link)
            if name == "away":
                return self.say(200, json.dumps(files[:1]).encode(),
                                Link='<file:///etc/passwd>; rel="next"')
            files = spoil(name, files)
        headers = {}
        if owner == "paged":
            cursor = int(query.get("cursor", ["0"])[0])
            if cursor + 3 < len(files):
                base = "http://%s%s" % (self.headers["Host"], self.path.split("?")[0])
                headers["Link"] = ('<%s?first>; rel="first", <%s?recursive=true&cursor=%d>; '
                                   'rel="next"' % (base, base, cursor + 3))
            files = files[cursor:cursor + 3]
        self.say(200, json.dumps(files).encode(), **headers)

    # ---- a file

    def file(self, owner, name, revision, path):
        whole = os.path.join(root, owner, name, path)
        if owner == "moved":
            return self.say(307, b"moved", Location=self.path.replace("/moved/", "/good/"))
        if owner == "gated" and self.server is hub:
            if self.headers.get("Authorization") != "Bearer hf_right":
                return self.say(401, b"no")
        if not os.path.isfile(whole):
            return self.say(404, b"no such file")
        size = os.path.getsize(whole)
        large = is_large(path, size)
        if owner == "circle" and large:
            return self.say(302, b"on", Location=self.path)
        if owner == "local" and large:
            return self.say(302, b"on", Location="file:///etc/passwd")
        if owner == "busy" and times("file", owner) < 2:
            return self.say(503, b"later")
        if large and self.server is hub and owner != "direct":
            where = "http://127.0.0.1:%d%s" % (store.server_address[1], self.path)
            return self.say(302, b"elsewhere", Location=where)
        with open(whole, "rb") as file:
            data = file.read()
        self.body(owner, path, data, large)

    def body(self, owner, path, data, large):
        asked = self.headers.get("Range", "")
        first = int(asked[6:].split("-")[0]) if asked.startswith("bytes=") else 0
        count = times("body", owner, path)
        if owner == "wrong" and large and count == 0:
            data = data[:1000] + b"#" + data[1001:]
        if owner == "longer" and large:  # more than was said, and no word of how much
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            while True:
                self.wfile.write(data)
        if owner == "misfit" and large:
            data += b"more"
        if owner == "norange" or (owner == "cutnorange"):
            first = 0
        if owner == "short" and large:
            return self.say(416, b"beyond") if first > 0 else self.say(200, data)
        if owner == "astray" and first > 0:
            first -= 1
        status = 206 if first > 0 else 200
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range",
                             "bytes %d-%d/%d" % (first, len(data) - 1, len(data)))
        rest = data[first:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if owner in ("cut", "cutnorange", "direct", "astray") and large and count < 2:
            self.wfile.write(rest[:len(data) // 3])
            self.wfile.flush()
            self.connection.shutdown(2)
            self.close_connection = True
        elif owner == "never" and large:
            self.wfile.flush()
            self.connection.shutdown(2)
            self.close_connection = True
        elif owner == "slow":
            self.trickle(rest, 16384)
        else:
            self.wfile.write(rest)

    def trickle(self, data, piece):
        """About ten megabytes a second."""
        for start in range(0, len(data), piece):
            self.wfile.write(data[start:start + piece])
            self.wfile.flush()
            time.sleep(piece / 10e6)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


hub = Server(("127.0.0.1", 0), Handler)
if certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    hub.socket = context.wrap_socket(hub.socket, server_side=True)
store = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=store.serve_forever, daemon=True).start()
with open(ports_file + ".new", "w", encoding="utf-8") as out:
    out.write("%d %d\n" % (hub.server_address[1], store.server_address[1]))
os.rename(ports_file + ".new", ports_file)
hub.serve_forever()
