"""The numbers every implementation of the theory must meet."""

import json
from pathlib import Path

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())
