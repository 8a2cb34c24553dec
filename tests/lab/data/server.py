"""A server on the loopback for downloads: it knows ranges, and can break off."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Files:
    """What is served, and what was asked for."""

    def __init__(self):
        self.content, self.version, self.breaks_after, self.asked = {}, '"1"', None, []
        self.hides_length, self.claims_length = False, None


@contextmanager
def serving():
    files = Files()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            files.asked.append(self.headers.get("Range"))
            if self.path not in files.content:
                return self.send_error(404)
            content, start = files.content[self.path], 0
            if self.headers.get("Range") and self.headers.get("If-Range") == files.version:
                start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
                if start >= len(content):
                    return self.send_error(416)
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            if files.version:
                self.send_header("ETag", files.version)
            if not files.hides_length:
                self.send_header("Content-Length", files.claims_length or str(len(content) - start))
            self.end_headers()
            stop = len(content) if files.breaks_after is None else start + files.breaks_after
            self.wfile.write(content[start:stop])
            return None

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    files.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield files
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
