"""NVFlare: an aggregator that takes any rule. Clients send differences (params_type DIFF)."""

from typing import Any

import numpy as np
from nvflare.app_common.abstract.fl_model import FLModel, ParamsType
from nvflare.app_common.aggregators.model_aggregator import ModelAggregator

from holdfast import aggregators, defend


class HoldfastAggregator(ModelAggregator):
    """Collects the clients' differences and lets a rule decide; only what fits `shapes` is used."""

    def __init__(self, rule: str, settings: dict[str, Any], shapes: dict[str, list[int]]) -> None:
        super().__init__()
        # Plain values, which NVFlare can write into the job's configuration.
        self.rule, self.settings, self.shapes = rule, settings, shapes
        self.state: Any = None
        self.reset_stats()

    def accept_model(self, model: FLModel) -> None:
        is_difference = model.params_type == ParamsType.DIFF
        name = model.meta.get("client_name", len(self.sent))
        self.sent[name] = model.params if is_difference else "not a difference"  # dropped, with the reason

    def aggregate_model(self) -> FLModel:
        result = defend(
            self.sent,
            getattr(aggregators, self.rule)(**self.settings),
            like={name: np.zeros(shape, np.float32) for name, shape in self.shapes.items()},
            state=self.state,
        )
        self.state = result.state
        self.info(str(result.diagnostics))
        return FLModel(params_type=ParamsType.DIFF, params=result.update)

    def reset_stats(self) -> None:
        self.sent: dict[Any, Any] = {}
