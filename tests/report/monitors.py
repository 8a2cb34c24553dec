"""The monitor as an operator starts it: a process of its own, and what it answers."""

import gzip
import http.client
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

from holdfast.report.monitor import MonitorServer

COMMAND = [sys.executable, "-c", "from holdfast.cli import main; main()", "monitor"]


@contextmanager
def monitor_process(ledger, *options, port=0, env=None):
    """Start `holdfast monitor` and yield the address that it prints; it must end well when interrupted."""
    command = [*COMMAND, "--ledger", str(ledger), "--port", str(port), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        try:
            first = process.stdout.readline()
            assert "http" in first, process.stderr.read()
            yield first.split()[-1]
        finally:
            process.send_signal(signal.SIGINT)
            rest, complaints = process.communicate(timeout=30)
    assert process.returncode == 0
    assert rest.endswith("Stopped.\n")
    assert complaints == ""


@contextmanager
def serving(ledger, **settings):
    """Serve in a thread of this process, on a free port."""
    with MonitorServer(ledger, port=0, **settings) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def asked(url, path="/", *, method="GET", **headers):
    """Return the status, headers and body of an answer; names of headers are given with underscores."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=named)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    return answer.status, answer.headers, body
