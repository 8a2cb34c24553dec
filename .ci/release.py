"""Build wheel and sdist, check them, and use each of them in an empty environment as a new user would.

Nothing is published: what is left in `dist` is ready to be uploaded by whoever may.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def say(text: str) -> None:
    """Print at once: before what the next command prints."""
    print(text, flush=True)


def run(*command: object, cwd: Path = ROOT) -> str:
    """Return what a command prints; one that fails ends the release, with its own words."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def released_version(root: Path = ROOT) -> str:
    """Return the version of the code, once changelog and citation name the same."""
    version = re.search(r'^__version__ = "(.+)"$', (root / "holdfast/__init__.py").read_text(), re.M)[1]
    newest = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text(), re.M)[1]
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(), re.M)[1]
    if not version == newest == cited:
        raise SystemExit(f"the code is {version}, CHANGELOG.md {newest}, CITATION.cff {cited}: make them one")
    return version


def first_example(readme: str) -> str:
    """Return the first example in Python of a README."""
    return re.findall(r"```python\n(.*?)```", readme, re.S)[0]


def use(package: Path, version: str) -> None:
    """Install a package into an empty environment; import it, run the first example and the command there."""
    with tempfile.TemporaryDirectory() as folder:
        elsewhere, home = Path(folder), Path(folder) / "environment"
        venv.create(home, with_pip=True)
        python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, package, cwd=elsewhere)
        said = run(python, "-c", "import holdfast; print(holdfast.__version__)", cwd=elsewhere)
        if said.strip() != version:
            sys.exit(f"{package.name} installs version {said.strip()}, not {version}")
        (elsewhere / "example.py").write_text(first_example((ROOT / "README.md").read_text()))
        say(run(python, "example.py", cwd=elsewhere).rstrip())
        run(*pip, f"{package}[cli]", cwd=elsewhere)
        say(run(python.with_name("holdfast"), "--version", cwd=elsewhere).rstrip())


def main() -> None:
    """Make a release, and leave it in dist."""
    version = released_version()
    shutil.rmtree(DIST, ignore_errors=True)
    say(f"Building holdfast-fl {version} ...")
    run(sys.executable, "-m", "build", "--outdir", DIST)
    built = sorted(DIST.iterdir())
    expected = [f"holdfast_fl-{version}-py3-none-any.whl", f"holdfast_fl-{version}.tar.gz"]
    if [path.name for path in built] != expected:
        sys.exit(f"expected {expected} in dist, found {[path.name for path in built]}")
    say(run(sys.executable, "-m", "twine", "check", "--strict", *built).rstrip())
    for package in built:
        say(f"Using {package.name} in an empty environment ...")
        use(package, version)
    say(f"Ready in {DIST}: {', '.join(expected)}")


if __name__ == "__main__":
    main()
