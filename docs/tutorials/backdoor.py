# %% [markdown]
# # See a backdoor planted and stopped
#
# One hundred clients train a filter for phishing mail. Twenty of them work for a phisher: they teach the model that a
# certain value in one feature means *harmless*. You will see the backdoor get in without a trace in the accuracy, and then
# see it kept out. The tutorial takes a few seconds and needs no downloads.
#
# ## The training
#
# `build_run` assembles a training from names. `phishing` is a synthetic stand-in for a real table of mails. In the
# attack `edge-case`, attackers set a feature of phishing mails to a value that hardly any mail has, and label these mails
# harmless.

# %%
import matplotlib.pyplot as plt
import torch

from holdfast.lab import build_run, simulate

torch.set_num_threads(1)  # a network this small is quickest so

run = build_run("phishing", attack="edge-case", defence="fedavg")
task = run.task
print(f"{task.n_clients} clients, {task.n_per_round} of them in each of {task.n_rounds} rounds")
print(f"{run.attack.n_malicious} clients attack")

# %% [markdown]
# ## Without a defence
#
# The server averages what the clients send. `simulate` yields a record after each round. *Attack success* is the share of
# mails with the trigger that the model classifies as harmless.

# %%
averaged = [record for record, _ in simulate(run)]
for record in averaged[4::5]:
    print(
        f"round {record.round:2}: accuracy {record.accuracy:.3f}, attack success {record.attack_success:.2f}"
    )

# %% [markdown]
# The filter is accurate, yet it lets the attackers' mail pass. The accuracy alone does not reveal this.
#
# ## With one
#
# Now run the same training with two lines of defence. A *watch*, `factions`, records which clients deviate together, and
# expels those who do so repeatedly. Behind it, the rule `krum_trimmed_mean` leaves out the outliers of a round.

# %%
run = build_run("phishing", attack="edge-case", defence="factions+krum_trimmed_mean")
defended = [record for record, _ in simulate(run)]
for record in defended[4::5]:
    print(
        f"round {record.round:2}: accuracy {record.accuracy:.3f}, attack success {record.attack_success:.2f}"
    )
print(f"attackers expelled: {defended[-1].n_found}, honest clients expelled: {defended[-1].n_wronged}")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for records, label in ((averaged, "plain averaging"), (defended, "watch, Krum, trimmed mean")):
    axes.plot([one.round for one in records], [one.attack_success for one in records], label=label)
axes.set(xlabel="round", ylabel="attack success", ylim=(-0.02, 1.02))
axes.legend()

# %% [markdown]
# In the first rounds the defended model does not change: the watch observes the clients before it lets any update be applied.
# Until then the network is untrained and guesses: it classifies most mails as harmless, including those of the attackers.
#
# This is one task. On others, attackers are harder to stop, and some attacks get past this defence.
# [Which defence for me](../choose.md) shows what we measured.

# %%
assert averaged[-1].attack_success > 0.8
assert defended[-1].attack_success < 0.05
assert defended[-1].accuracy > 0.99
assert defended[-1].n_wronged == 0

# %% [markdown]
# ## What next
#
# - From the shell: `holdfast compare phishing --attack edge-case --defences fedavg,median,factions+krum_trimmed_mean`.
# - [Read a verdict](verdict.md): who attacked, and how sure is the watch?
# - [Bring your own task](own_task.md): the same with your data.
