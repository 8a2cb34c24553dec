"""NVFlare: an aggregator that takes any rule. Clients send differences (params_type DIFF)."""

from typing import Any

import numpy as np
from nvflare.app_common.abstract.fl_model import FLModel, ParamsType
from nvflare.app_common.aggregators.model_aggregator import ModelAggregator

from holdfast import aggregators, bind, defend


class HoldfastAggregator(ModelAggregator):
    """Collects the clients' differences and lets a rule decide; only what fits `shapes` is used."""

    def __init__(self, rule: str, settings: dict[str, Any], shapes: dict[str, list[int]]) -> None:
        super().__init__()
        # Plain values, which NVFlare can write into the job's configuration.
        self.rule, self.settings, self.shapes = rule, settings, shapes
        self.state: Any = None
        self.reset_stats()

    def accept_model(self, model: FLModel) -> None:
        self.sent[model.meta.get("client_name", len(self.sent))] = model

    def aggregate_model(self) -> FLModel:
        form = [np.zeros(shape, np.float32) for shape in self.shapes.values()]
        result = defend(
            [self.layers(model) for model in self.sent.values()],
            bind(getattr(aggregators, self.rule), **self.settings),
            params=form,
            clients=list(self.sent),
            state=self.state,
        )
        self.state = result.state
        self.info(str(result.diagnostics))
        update = dict(zip(self.shapes, result.update, strict=True))
        return FLModel(params_type=ParamsType.DIFF, params=update)

    def reset_stats(self) -> None:
        self.sent: dict[Any, FLModel] = {}

    def layers(self, model: FLModel) -> Any:
        params = model.params
        if model.params_type != ParamsType.DIFF or set(params) != set(self.shapes):
            return "not a difference of this model"  # is dropped, with the reason
        return [np.asarray(params[name], np.float32) for name in self.shapes]
