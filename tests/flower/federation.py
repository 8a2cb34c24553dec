"""A real federation on loopback: SuperLink, SuperNodes and runs as processes, all of which end with it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
APP = ROOT / "examples" / "flower"
START_LIMIT, RUN_LIMIT, STOP_LIMIT = 120, 300, 60  # seconds; some five times what two cores need

needs_engines = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="processes are counted by their environment, in /proc"
)


class Federation:
    """Processes with one private FLWR_HOME, by which each of them, children and orphans too, is known."""

    def __init__(self, folder, *, tls=None, n_nodes=7):
        self.folder, self.tls = folder, tls
        self.home = folder / "home"
        self.home.mkdir()
        self.port, *self.node_ports = free_ports(1 + n_nodes)
        self.address = f"127.0.0.1:{self.port}"
        secured = f'root-certificates = "{tls.root}"' if tls else "insecure = true"
        (self.home / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "{self.address}"\n{secured}\n'
        )
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "FLWR_HOME": str(self.home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # Ray on loopback, instead of the machine's address
            "OMP_NUM_THREADS": "1",
        }
        self.started = {}

    def start(self, name, *command):
        """Start a process in a group of its own; what it says goes into a file."""
        with open(self.folder / f"{name}.log", "wb") as log:
            self.started[name] = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def log(self, name):
        """Return what a process has said, without colours."""
        return re.sub(r"\x1b\[\d+m", "", (self.folder / f"{name}.log").read_text(errors="replace"))

    def start_superlink(self, *options):
        security = self.tls.superlink_options if self.tls else ["--insecure"]
        command = ["flower-superlink", "--host", "127.0.0.1", "--port", str(self.port)]
        self.start("superlink", *command, *security, *options)
        self.wait(self.is_open, "the SuperLink to listen")

    def is_open(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def register(self, numbers):
        """Make the keys of some SuperNodes known to the SuperLink."""
        for number in numbers:
            key = self.tls.public_key(number)
            self.start(f"register{number}", "flwr", "supernode", "register", key, "here")
        for number in numbers:
            self.ended(f"register{number}", START_LIMIT)

    def start_supernode(self, number, config, *, n_nodes=5):
        security = self.tls.supernode_options(number) if self.tls else ["--insecure"]
        command = ["flower-supernode", "--superlink", self.address, "--host", "127.0.0.1"]
        command += ["--port", str(self.node_ports[number])]
        own = f"partition-id={number} num-partitions={n_nodes} {config}"
        self.start(f"node{number}", *command, *security, "--node-config", own)

    def node_id(self, number):
        """Return the id that the SuperLink gave to a SuperNode."""
        said = self.wait(
            lambda: re.search(r"SuperNode ID: (\d+)", self.log(f"node{number}")), f"node {number} to join"
        )
        return int(said[1])

    def ended(self, name, limit):
        """Return what a command said, once it has ended well."""
        self.wait(lambda: self.started[name].poll() is not None, f"{name} to end", limit)
        assert self.started[name].returncode == 0, self.log(name)
        return self.log(name)

    def start_run(self, *options, app=APP, **config):
        """Start an app, by default the example; keys and values are its run configuration."""
        settings = {**config, "out": str(self.folder / "out")}
        pairs = " ".join(f"{key.replace('_', '-')}={json.dumps(value)}" for key, value in settings.items())
        self.start("run", "flwr", "run", str(app), "here", "--stream", "--run-config", pairs, *options)

    def result(self):
        """Return the log of the run, its metrics by round, and its model, once it has ended."""
        said = self.ended("run", RUN_LIMIT)
        assert (self.folder / "out" / "result.json").exists(), said + self.log("superlink")
        with np.load(self.folder / "out" / "model.npz") as file:
            model = dict(file)
        return said, json.loads((self.folder / "out" / "result.json").read_text()), model

    def wait(self, condition, what, limit=START_LIMIT):
        """Return what the condition gives once it holds."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.1)
        logs = "\n".join(f"--- {name}\n{self.log(name)}" for name in self.started)
        raise AssertionError(f"waited {limit} s in vain for {what}\n{logs}")

    def alive(self):
        """Return the ids of the processes that belong to this federation."""
        mark, found = f"FLWR_HOME={self.home}\0".encode(), []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue  # it has just ended, or is not ours
        return found

    def serving(self):
        """Return the ids of the processes that run a ServerApp."""
        return [pid for pid in self.alive() if b"flwr-serverapp" in command_of(pid)]

    def signal_all(self, number):
        for pid in self.alive():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def stop(self):
        """Ask all processes to end, and return once they have."""
        self.signal_all(signal.SIGTERM)
        for process in self.started.values():
            process.wait(timeout=STOP_LIMIT)
        self.wait(lambda: not self.alive(), "all processes to end", limit=STOP_LIMIT)


@contextmanager
def federation(folder, **options):
    """Give a federation; whatever happens, nothing of it runs on afterwards."""
    built = Federation(folder, **options)
    try:
        yield built
    finally:
        built.signal_all(signal.SIGKILL)
        for process in built.started.values():
            process.wait(timeout=STOP_LIMIT)


def command_of(pid):
    """Return the command line of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def free_ports(count):
    """Return ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
