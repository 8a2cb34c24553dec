"""A process that aggregates slowly, to be killed in the middle of writing. Says when it writes."""

import os
import sys
import time
from pathlib import Path

from holdfast import median
from holdfast.files import aggregate_files, output

folder, sharded = Path(sys.argv[1]), sys.argv[2] == "folder"
moved = output.moved


def slowly(*given):
    os.write(1, b"writing\n")
    time.sleep(0.2)
    return moved(*given)


output.moved = slowly
clients = sorted((folder / "clients").iterdir())
base = folder / ("base" if sharded else "base.safetensors")
aggregate_files(clients, median, base=base, out=folder / ("next" if sharded else "next.safetensors"))
print("done", flush=True)
