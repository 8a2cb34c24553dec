"""The equations of rules and attacks, in LaTeX, as MathML that browsers draw by themselves."""

from latex2mathml.converter import convert

#: What all equations of rules share.
RULE_SYMBOLS = (
    "xᵢ is the update of client i, xᵢⱼ its coordinate j, n the number of clients in the round, u the result."
)
#: The same for attacks.
ATTACK_SYMBOLS = (
    "xᵢ is what attacker i would send after training on its poisoned examples, hᵢ what it would send if it were"
    " honest, x̃ᵢ what it sends, dᵢ = xᵢ − hᵢ."
)

RULES = {
    "align_ins": r"u = \frac{1}{|K|} \sum_{i \in K} \min\left(1, \frac{m}{\|x_i\|}\right) x_i, \quad K = \{ i : |s_i - \mathrm{med}\, s| < \lambda_s \sigma_s,\ |c_i - \mathrm{med}\, c| < \lambda_c \sigma_c \}",
    "and_mask": r"u_j = \frac{1}{n} \sum_i x_{ij} \ \text{ if } \ \left| \sum_i \mathrm{sign}\, x_{ij} \right| \ge \tau n, \quad \text{else } 0",
    "arc": r"u = R\left( \min\left(1, \frac{C}{\|x_i\|}\right) x_i \right), \quad C = \text{the } (k+1)\text{-th largest } \|x_i\|, \quad k = \lfloor 2 f (n - f) / n \rfloor",
    "bucketing": r"u = R\left( \frac{1}{s} \sum_{i \in B_1} x_i, \ \frac{1}{s} \sum_{i \in B_2} x_i, \ \ldots \right), \quad |B_k| = s",
    "bulyan": r"u_j = \frac{1}{n - 4f} \sum_{i \in N_j} x_{ij}, \quad N_j = \text{the } n - 4f \text{ of } S \text{ closest to } \mathrm{med}_{i \in S}\, x_{ij}, \quad |S| = n - 2f",
    "cached": r"u = R(m_1, \ldots, m_N), \quad m_i \leftarrow (1 - a)\, m_i + a\, x_i \ \text{ for } i \text{ in the round}",
    "centered_clipping": r"v \leftarrow v + \frac{1}{n} \sum_i \min\left(1, \frac{r}{\|x_i - v\|}\right) (x_i - v)",
    "crfl": r"w + u = \min\left(1, \frac{\rho}{\|w + \bar{x}\|}\right) (w + \bar{x}) + \varepsilon, \quad \varepsilon \sim N(0, \sigma^2 I)",
    "dnc": r"s_i = \langle x_i - \bar{x}, v \rangle^2, \quad v = \text{top right singular vector of } (x_i - \bar{x})_i, \quad \text{drop the } \lceil c f \rceil \text{ largest } s_i",
    "fed_seca": r"u_j = \text{mean of the clamped } x_{ij} \ \text{ over } \ \{ i : \mathrm{sign}\, x_{ij} = e_j \}, \quad e_j = \mathrm{sign} \sum_i \omega_i\, \mathrm{sign}\, x_{ij}",
    "fedavg": r"u = \sum_i \frac{n_i}{\sum_k n_k}\, x_i",
    "fl_detector": r"\hat{x}_i = x_i^{\mathrm{last}} + \hat{H} (w - w^{\mathrm{last}}), \quad s_i = \|x_i - \hat{x}_i\|, \quad \text{drop the cluster of high } s_i",
    "flame": r"u = \frac{1}{|K|} \sum_{i \in K} \min\left(1, \frac{m}{\|x_i\|}\right) x_i + \varepsilon, \quad \varepsilon \sim N(0, \lambda^2 m^2 I), \quad m = \mathrm{med}_i \|x_i\|",
    "fltrust": r"u = \frac{\sum_i t_i \frac{\|r\|}{\|x_i\|} x_i}{\sum_i t_i}, \quad t_i = \max(0, \cos(x_i, r))",
    "foolsgold": r"u = \frac{\sum_i v_i x_i}{n}, \quad v_i \text{ falls with } \max_{k \ne i} \cos(h_i, h_k), \quad h_i = \text{sum of client } i\text{'s updates}",
    "invariant": r"u_j = \text{trimmed mean}_\alpha (x_{1j}, \ldots, x_{nj}) \ \text{ if } \ \left| \sum_i \mathrm{sign}\, x_{ij} \right| \ge \tau n, \quad \text{else } 0",
    "krum": r"u = x_k, \quad k = \text{argmin}_i \sum_{l \in N_i} \|x_i - x_l\|^2, \quad N_i = \text{the } n - f - 2 \text{ nearest to } x_i",
    "krum_trimmed_mean": r"u = \text{trimmed mean}_\alpha \{ x_i : i \in S \}, \quad S = \text{the } n - f \text{ with the lowest Krum scores}",
    "mean_variance_mask": r"u_j = \text{trimmed mean}_\alpha (x_{1j}, \ldots, x_{nj}) \ \text{ if } \ \frac{|\bar{x}_j|}{\sigma_j} \ge \kappa, \quad \text{else } 0",
    "median": r"u_j = \mathrm{med}(x_{1j}, \ldots, x_{nj})",
    "multi_krum": r"u = \frac{1}{|S|} \sum_{i \in S} x_i, \quad S = \text{the } n - f \text{ with the lowest Krum scores}",
    "multi_krum_cosine": r"u = \frac{1}{|S|} \sum_{i \in S} x_i, \quad S = \text{the } n - f \text{ with the lowest } \sum_{l \in N_i} (1 - \cos(x_i, x_l))",
    "multi_metrics": r"u = \frac{1}{|S|} \sum_{i \in S} x_i, \quad S = \text{those with the lowest } t_i^\top C^{-1} t_i, \quad t_i = \sum_k |m_i - m_k|",
    "nnm": r"u = R(y_1, \ldots, y_n), \quad y_i = \frac{1}{n - f} \sum_{l \in N_i} x_l, \quad N_i = \text{the } n - f \text{ nearest to } x_i",
    "norm_clipping": r"u = \frac{1}{n} \sum_i \min\left(1, \frac{c}{\|x_i\|}\right) x_i",
    "rfa": r"u = \text{argmin}_v \sum_i n_i \|x_i - v\|",
    "rflbat": r"u = \frac{1}{|K|} \sum_{i \in K} x_i, \quad K = \text{the cluster of } (P x_i)_i \text{ with the lowest mean cosines}, \quad P = \text{first two principal components}",
    "rlr": r"u_j = \pm \bar{x}_j, \quad + \ \text{ if } \ \left| \sum_i \mathrm{sign}\, x_{ij} \right| \ge \theta, \quad \text{else } -",
    "sign_sgd": r"u_j = \eta\, \mathrm{sign} \sum_i \mathrm{sign}\, x_{ij}",
    "sparsefed": r"u = \mathrm{top}_k(e), \quad e \leftarrow e + \text{momentum of } \frac{1}{n} \sum_i \min\left(1, \frac{c}{\|x_i\|}\right) x_i, \quad e \leftarrow e - u",
    "trimmed_mean": r"u_j = \frac{1}{n - 2k} \sum_{i = k + 1}^{n - k} x_{(i) j}, \quad k = \lceil \alpha n \rceil, \quad x_{(1) j} \le \ldots \le x_{(n) j}",
    "weak_dp": r"u = \sum_i \frac{n_i}{\sum_k n_k} \min\left(1, \frac{c}{\|x_i\|}\right) x_i + \varepsilon, \quad \varepsilon \sim N(0, \sigma^2 I)",
    "weighted_invariant": r"u_j = \text{weighted trimmed mean}_\alpha (x_{ij}, n_i) \ \text{ if } \ \left| \sum_i n_i\, \mathrm{sign}\, x_{ij} \right| \ge \tau \sum_i n_i, \quad \text{else } 0",
    "weighted_median": r"\sum_{i : x_{ij} < u_j} n_i \ \le \ \frac{1}{2} \sum_i n_i \ \ge \ \sum_{i : x_{ij} > u_j} n_i",
    "weighted_trimmed_mean": r"u_j = \text{mean of } x_{ij} \text{ by weight } n_i, \text{ without the share } \alpha \text{ of the weight at each end}",
}

#: Attacks that are a formula; others are a way to train, to label or to behave.
ATTACKS = {
    "3dfed": r"\tilde{x}_i = h_i + s\, d_i + \nu_i + c\, e_{j(i)}, \quad \sum_i \nu_i = 0",
    "a3fl": r"\min_\delta \ \mathrm{CE}(w, x + \delta, t) + \lambda \cos(w, w')\, \mathrm{CE}(w', x + \delta, t)",
    "adaptive": r"\tilde{x}_i = \text{scale} \cdot x_i \odot 1[\, u_j^{\mathrm{last}} \ne 0 \,]",
    "alie": r"\tilde{x}_i = \mu_h - z\, \sigma_h",
    "constrain-and-scale": r"\min_w \ a\, \mathrm{CE}(w) + (1 - a)\, \|w - w_{\mathrm{global}}\|, \quad \tilde{x}_i = \gamma x_i",
    "cosine-constrained": r"\min_w \ (1 - a)\, \mathrm{CE}(w) + a\, (1 - \cos(w, w_{\mathrm{global}}))",
    "decorrelate": r"\tilde{x}_i = x_i + s\, \|d_i\|\, (q_i - \bar{q})",
    "dilute": r"\tilde{x}_i = h_i + s\, d_i, \quad 0 < s < 1",
    "full-information": r"\tilde{x}_i = h_i + s\, d_i, \quad s = \text{the strength with the most progress and no suspicion}",
    "gaussian": r"\tilde{x}_i \sim N(0, \sigma^2 I)",
    "iba": r"x' = \mathrm{clip}(x + \varepsilon\, G(x)), \quad \min_G \ \mathrm{CE}(w, x', t)",
    "in-turn": r"\tilde{x}_i = h_i + d_i\, 1[\, i + t \equiv 0 \bmod p \,] \quad \text{in round } t",
    "inner-product": r"\tilde{x}_i = -\epsilon\, \mu_h",
    "mimic": r"\tilde{x}_i = h_{\mathrm{victim}} + d_i",
    "neurotoxin": r"\tilde{x}_{ij} = x_{ij} \ \text{ where } |u_j^{\mathrm{last}}| \text{ is among the smallest}, \quad \text{else } 0",
    "pgd": r"w \leftarrow \text{projection of } w \text{ onto } \{ w : \|w - w_{\mathrm{global}}\| \le r \}",
    "poisoned-fl": r"\tilde{x}_i = c\, \|u^{\mathrm{last}}\|\, v \odot s, \quad s \in \{-1, 1\}^d \text{ the same in all rounds}",
    "ramp": r"\tilde{x}_i = h_i + \min\left(1, \frac{t}{T}\right) d_i \quad \text{in round } t",
    "replacement": r"\tilde{x}_i = \gamma\, x_i",
    "rotate": r"\tilde{x}_{ij} = h_{ij} + c\, d_{ij}\, 1[\, \pi(j) \equiv t \bmod p \,] \quad \text{in round } t, \quad \pi = \text{a secret order}",
    "sign-flip": r"\tilde{x}_i = -c\, x_i",
    "split": r"\tilde{x}_{ij} = h_{ij} + c\, d_{ij}\, 1[\, j \equiv i \bmod p \,]",
}


def drawn(latex: str) -> str:
    """Return an equation as a block of its own; its parts, apart by a quad, may wrap.

    >>> drawn("u = x").startswith('<div class="equation"><math')
    True
    >>> drawn(r"u = x, \\quad x = 1").count("<math")
    2
    """
    parts = (convert(part, display="block") for part in latex.split(r", \quad "))
    return f'<div class="equation">{"".join(parts)}</div>'
