# %% [markdown]
# # See a backdoor planted and stopped
#
# One hundred clients train a filter for phishing mail. Twenty of them work for the sender of such mail: they teach the
# model that a certain value in one feature means *harmless*. You will see the backdoor get in, without a trace in the
# accuracy, and then see it kept out. All of it takes some seconds, and needs no data from elsewhere.
#
# ## The training
#
# `build_run` puts a training together from names. `phishing` is a made-up stand-in for a real table of mails. Under the
# attack `edge-case`, attackers set a feature of phishing mails to a value that hardly any mail has, and label them
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
# mails with the trigger that the model calls harmless.

# %%
averaged = [record for record, _ in simulate(run)]
for record in averaged[4::5]:
    print(
        f"round {record.round:2}: accuracy {record.accuracy:.3f}, attack success {record.attack_success:.2f}"
    )

# %% [markdown]
# The filter is as accurate as ever, and lets the attackers' mail pass. Nobody who looks at the accuracy would notice.
#
# ## With one
#
# The same training with two lines of defence. A *watch*, `factions`, remembers who deviates together with whom, and expels
# those who do it again and again. Behind it, `krum_trimmed_mean` leaves out the outliers of a round.

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
# In the first rounds the defended model does not move: the watch listens before it lets anything be applied. Until then the
# network is untrained, and takes most mails for harmless, those of the attackers among them. Their success is what it guesses.
#
# One task is not the world: on others the attackers are harder to stop, and some attacks get past this defence.
# [Which defence for me](../choose.md) has what we measured.

# %%
assert averaged[-1].attack_success > 0.8
assert defended[-1].attack_success < 0.05
assert defended[-1].accuracy > 0.99
assert defended[-1].n_wronged == 0

# %% [markdown]
# ## What next
#
# - From the shell: `holdfast compare phishing --attack edge-case --defences fedavg,median,factions+krum_trimmed_mean`.
# - [Read a verdict](verdict.md): who attacked, and how sure is that?
# - [Bring your own task](own_task.md): the same with your data.
