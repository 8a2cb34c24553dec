# %% [markdown]
# # Your own task, attack and rule, compared
#
# In federated learning, many clients train one model together, and nobody sees their data. A few malicious
# clients can use that to plant a *backdoor*: the model works as usual, except on inputs that the attackers
# have chosen. The server can defend itself by how it combines what the clients send, its *rule*.
#
# This tutorial brings its own data, network, attack and rule, and finds out what the rule is worth:
#
# 1. train a model without attackers,
# 2. attack it,
# 3. write a rule and check it,
# 4. compare it with other defences over whole trainings,
# 5. attack the rule itself.
#
# All of it takes about a minute. You need Fashion-MNIST, 70,000 grey pictures of clothes:
#
# ```
# pip install '.[sim,report]' ipykernel pandas   # in a checkout of holdfast
# holdfast data get fashion-mnist
# ```
#
# Our own parts are in a small file beside this one, [fashion.py](fashion.py). You could write them into a
# notebook as well. A file has two advantages: worker processes can import it, so that trainings run in
# parallel, and the commands of the shell can use it, as shown at the end.

# %%
from inspect import getsource
from pprint import pprint

import fashion
import matplotlib.pyplot as plt
import torch
from IPython.display import display  # outside of a notebook, it prints

from holdfast.lab import Run, check, compare, probe, simulate
from holdfast.lab.data.fashion_mnist import CLASSES
from holdfast.lab.models import load_params

torch.set_num_threads(1)  # a network this small is quickest so

# %% [markdown]
# ## 1. A task, and a training without attackers
#
# A `Task` is what honest clients do: their data, the network, and how they train. Its parts are plain
# functions, such as this one, and numbers.

# %%
print(getsource(fashion.network))
pprint(fashion.task)

# %% [markdown]
# `simulate` trains round by round: the server draws 15 of the 30 clients, each trains on its own 400
# pictures, and the server averages what they send back. After each round, `simulate` yields a record of it
# and the state of the training.

# %%
rounds = list(simulate(Run(fashion.task)))
for record, _ in rounds[3::4]:
    print(f"round {record.round}: {record.accuracy:.0%} of the test pictures are named correctly")

# %% [markdown]
# Nobody photographs trousers that lie on their side. What does the model call them?

# %%
data = fashion.task.data()
upright = data.x_test[data.y_test == fashion.TROUSER]
lying = fashion.lying_down(upright)

model = fashion.network()
load_params(model, rounds[-1][1].params)
for name, pictures in (("upright", upright), ("lying down", lying)):
    answers = model(torch.from_numpy(pictures)).argmax(dim=1)
    most = int(answers.mode().values)
    print(f"trousers, {name}: {(answers == most).float().mean():.0%} are called {CLASSES[most]}")

figure, axes = plt.subplots(1, 6, figsize=(7, 1.4))
for place, picture in zip(axes, [*upright[:3], *lying[:3]], strict=True):
    place.imshow(picture[0], cmap="gray_r")
    place.axis("off")

# %% [markdown]
# It has never seen any, and takes them for bags.
#
# ## 2. An attack
#
# Rare inputs like these are *edge cases*. Whoever trains on them decides what they are, because no honest
# client disagrees. Our attackers call them dresses. A `Backdoor` has the label that the attackers want, a
# function that returns poisoned examples, and a *challenge*: the inputs on which success is measured.

# %%
print(getsource(fashion.trousers_are_dresses))
pprint(fashion.sideways)

# %% [markdown]
# Six of the 30 clients are malicious. They add poisoned pictures to their own, and otherwise train like
# everybody. The *attack success rate* is the share of the challenge that the model calls dresses.

# %%
*_, (record, _) = simulate(Run(fashion.task, fashion.sideways))
print(f"accuracy {record.accuracy:.0%}, attack success {record.attack_success:.0%}")

# %% [markdown]
# The model is as accurate as before, so nobody would notice. Yet nearly all trousers that lie down are now
# dresses.
#
# ## 3. A rule
#
# Attackers want something that nobody else wants, so their updates should lie apart. Our rule leaves out the
# half of the updates that are farthest from the median, and averages the rest. A rule takes the clients'
# updates, one per row, and returns an `Aggregate`.

# %%
print(getsource(fashion.nearest_half))

# %% [markdown]
# Before any training, `check` tries it on made-up rounds. Does the order of the clients matter? Do infinite
# numbers break it? How far can one client move the result, and how many who collude does it withstand?

# %%
display(check(fashion.nearest_half))

# %% [markdown]
# It passes. A failure would have been a proof; a pass is none. Let us see the rule at work.
#
# ## 4. A comparison
#
# `compare` trains with every defence, under the attack and without it, with three seeds each. The trainings
# run in parallel and are stored in a folder. What is there already is read: run this cell again, and it takes
# no time; interrupt it, and it resumes. Edit a function, and what depends on it is trained again.
#
# Beside plain averaging, `fedavg`, and our rule there is `factions+fedavg`, plain averaging with a *watch*.
# It remembers over the rounds who votes with whom, and expels clients that stand apart together.

# %%
DEFENCES = ["fedavg", fashion.nearest_half, "factions+fedavg"]
comparison = compare(fashion.task, fashion.sideways, DEFENCES, seeds=3, baseline="fedavg", out="tutorial")
display(comparison)

# %%
comparison.figure()

# %% [markdown]
# Our rule keeps the backdoor out, and costs about a point of accuracy. The watch keeps it out, too. It only
# listens to the first three rounds, in which the model stays as it is; in a training as short as this one,
# that costs about as much again.
#
# The numbers are there for your own tables, with pandas or in LaTeX (`comparison.to_latex()`), and as one
# page to open in a browser:

# %%
attacked = comparison.to_pandas().query("attacked")
display(attacked.groupby(["defence", "seed"])[["accuracy", "attack_success"]].last())
print(comparison.page("tutorial/sideways.html"))

# %% [markdown]
# ## 5. Attack your own rule
#
# So far the attackers did not know our rule. Suppose they do. It trusts whoever is near the centre, so they
# send the centre, and beside it only a fifth of what they want. A *craft* is what attackers make of their
# updates before they send them. This one knows what the honest clients send: the worst case.

# %%
print(getsource(fashion.whisper))

# %% [markdown]
# One round is enough to see what that does. `probe` trains the clients of a round once, applies every rule to
# the same updates, and measures two things. *Leak* is how much of the attack gets through: under plain
# averaging, the attackers' share of the clients. *Gain* is how much of the honest step survives. A good rule
# has a leak near 0 and a gain near 1.

# %%
RULES = ["fedavg", "median", fashion.nearest_half]
for attack in (fashion.sideways, fashion.whispered):
    probed = probe(fashion.task, attack, RULES, draws=3, out="tutorial")
    display(probed)

# %%
probed.figure()

# %% [markdown]
# Against the first attack, our rule leaks least. When the attackers whisper, it leaks more than plain
# averaging: they are always in the nearest half, and most of the honest clients are not. Is that enough for
# a backdoor? The trainings without an attack are stored already; only those with the new attack are made.

# %%
whispered = compare(fashion.task, fashion.whispered, DEFENCES, seeds=3, baseline="fedavg", out="tutorial")
display(whispered)

# %%
whispered.figure()

# %% [markdown]
# The rule that looked best invites these attackers in, more than plain averaging does. The watch still finds
# all of them: they want the same thing round after round, however softly they say it. The dips in its curve
# are where it found several at once, and put the model back to its start, from before they had a say.
#
# **Test a rule against attackers who know it.** It may pass every check, and win every comparison under
# attackers who do not.
#
# ## What next
#
# - Train longer, with `dataclasses.replace(fashion.task, n_rounds=40)`. Plain averaging gives in to the
#   whisper as well, and the watch makes up for its late start.
# - Add `"median"`, `"invariant"` or `"factions+invariant"` to the defences: only what is new is trained.
# - Let the attackers whisper louder or more softly than `share=0.2`. Which share is best for them?
# - Mend the rule, and compare it under both attacks.
#
# ## From the shell
#
# The commands take the same file. TensorBoard shows the last training, round by round
# (`pip install '.[tensorboard]'`).
#
# ```
# holdfast list --from fashion.py
# holdfast check fashion.py:nearest_half
# holdfast probe fashion.py --attack whispered --defences fedavg,nearest_half --out tutorial
# holdfast compare fashion.py --attack sideways --defences fedavg,nearest_half --out tutorial
# holdfast run fashion.py --attack sideways --defence nearest_half --out tutorial --track tensorboard:logs
# tensorboard --logdir logs
# ```
