# %% [markdown]
# # Reproduce a table of the paper
#
# Every table and figure of the paper has a name, and one command reproduces it: it runs what is missing, stores each training as
# it finishes, and prints our numbers next to the paper's. This tutorial reproduces a part of table 4, *what each half of
# the defence does*, at a small size. The same commands reproduce the whole table, in hours.
#
# ## What is missing, and how long it takes

# %% [bash]
# holdfast reproduce table4 --tasks phishing --dry-run

# %% [markdown]
# A *scale* is the size of an experiment: `smoke` is a trial that takes seconds, `cpu` is the scale of the tables in this
# documentation, and `paper` has the paper's own networks and rounds. At the scale `smoke`:

# %% [bash]
# holdfast reproduce table4 --tasks phishing --scale smoke

# %% [markdown]
# The paper's numbers are in brackets. A trial of this size shows that everything works, but decides nothing: its trainings are too
# short to plant a backdoor, or to keep one out.
#
# You can interrupt the command at any time. Finished trainings are stored, and the same command resumes:

# %% [bash]
# holdfast reproduce table4 --tasks phishing --scale smoke --dry-run

# %% [markdown]
# ## Read what is stored
#
# Each training is one file, with all of its settings. Reading it does not need PyTorch, so this works on any machine that
# you copy the folder to:

# %%
from pathlib import Path

from holdfast.paper.evidence import evidence

found = evidence(["table4"], Path("results"), scale="smoke", n_seeds=1)
(table,) = found["experiments"]
for cell in table["cells"]:
    if cell["measured"]:
        accuracy, success = (cell["measured"][name]["mean"] for name in ("accuracy", "attack_success"))
        print(f"{cell['row'][:40]:40} accuracy {accuracy:.2f}, attack success {success:.2f}")

# %% [markdown]
# You can also get the results as a page with a curve for every run, as LaTeX for your own paper, or as CSV:

# %% [bash]
# holdfast report table4 --scale smoke --out report.html
# holdfast report table4 --scale smoke --format latex --out table4.tex
# head -n 3 table4.tex

# %%
assert sum(bool(cell["measured"]) for cell in table["cells"] if cell["task"] == "phishing") >= 5

# %% [markdown]
# ## What next
#
# - [Results](../results.md): the results at the scale `cpu`, and why some of the paper's claims do not hold here.
# - [Use a cluster](cluster.md): the same commands with `--workers ray`.
# - [Reports](../report.md): what the page shows.
