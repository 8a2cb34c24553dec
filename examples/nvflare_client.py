"""An NVFlare client that pulls the model to its own target; the last site pulls the other way, hard."""

import numpy as np
import nvflare.client as flare

flare.init()
is_malicious = flare.get_site_name() == "site-5"
rng = np.random.default_rng(int(flare.get_site_name().removeprefix("site-")))
while flare.is_running():
    received = flare.receive()
    params = {name: np.asarray(values, np.float32) for name, values in received.params.items()}
    target = -100.0 if is_malicious else 1.0 + 0.05 * rng.normal()
    diff = {name: 0.5 * (np.float32(target) - values) for name, values in params.items()}
    flare.send(flare.FLModel(params_type=flare.ParamsType.DIFF, params=diff))
