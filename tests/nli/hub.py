"""A stand-in for the hub: a server with one model, in the three forms that its client asks for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def hub(model: str, files: Mapping[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Serves the files of a model: the address, and the files that were downloaded."""
    downloaded: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._reply()

        def do_GET(self) -> None:
            body = self._reply()
            self.wfile.write(body)

        def _reply(self) -> bytes:
            path = urlsplit(self.path).path
            body, headers = b"{}", {"Content-Type": "application/json"}
            if path == f"/api/models/{model}/revision/main":
                body = json.dumps({"id": model, "sha": COMMIT}).encode()
            elif path == f"/api/models/{model}/tree/{COMMIT}":
                listed = [
                    {"type": "file", "path": name, "size": len(content), "oid": _hash(content)}
                    for name, content in files.items()
                ]
                body = json.dumps(listed).encode()
            elif path.startswith((f"/{model}/resolve/{COMMIT}/", f"/{model}/resolve/main/")):
                name = path.rpartition("/")[2]
                body = files[name]
                headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{_hash(body)}"'}
                if self.command == "GET":
                    downloaded.append(name)
            self.send_response(200 if body != b"{}" else 404)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            return body

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", downloaded
    finally:
        server.shutdown()
        server.server_close()


def _hash(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()
