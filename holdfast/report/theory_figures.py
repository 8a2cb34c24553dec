"""The figures of the paper that the theory explains, the formulas, and the adviser's maps, as files."""

from pathlib import Path

from ..theory.adviser import advise
from .advice_figure import region_figure
from .failure_figures import failures, fltrust_curve
from .landscapes import landscapes
from .plotting import save
from .printed_figure import printed_and_exact

__all__ = ["draw_figures"]


def draw_figures(folder: Path) -> list[Path]:
    """Write all figures into the folder and return where they are.

    >>> import tempfile
    >>> [path.name for path in draw_figures(Path(tempfile.mkdtemp()))][:3]
    ['f1-landscapes.png', 'f2-failures.png', 'f3-fltrust.png']
    """
    figures = {
        "f1-landscapes": landscapes(),
        "f2-failures": failures(),
        "f3-fltrust": fltrust_curve(),
        "printed-and-exact": printed_and_exact(),
        "advice-cifar10": region_figure(advise(n_clients=100, n_per_round=20, n_malicious=20, n_rounds=300)),
        "advice-twitter": region_figure(advise(n_clients=100, n_per_round=15, n_malicious=10, n_rounds=300)),
    }
    return [save(figure, Path(folder) / f"{name}.png") for name, figure in figures.items()]
