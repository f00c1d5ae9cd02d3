"""Muon (Jordan et al. 2024): momentum whose update is nearly orthogonalised by Newton-Schulz
iterations. For matrices only.
"""

import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonal(updates, steps=5):
    """Return nearly orthogonal versions of a stack of matrices (count, rows, columns)."""
    a, b, c = COEFFICIENTS
    x = updates.bfloat16()
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.size(-2) > x.size(-1)
    x = x.mT if tall else x
    for _ in range(steps):
        y = x @ x.mT
        x = a * x + (b * y + c * y @ y) @ x
    return (x.mT if tall else x).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, parameters, lr=0.01, momentum=0.95, weight_decay=0.01):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            alike = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    alike.setdefault(parameter.shape, []).append(parameter)
            for shape, parameters in alike.items():
                updates = torch.stack([self.nesterov(parameter, group["momentum"]) for parameter in parameters])
                scale = -group["lr"] * max(1, shape[0] / shape[1]) ** 0.5
                for parameter, update in zip(parameters, orthogonal(updates)):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=scale)

    def nesterov(self, parameter, momentum):
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        state["momentum"].lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(state["momentum"], momentum)
