"""What ranks must say alike before they train together.

One exchange when a model is wrapped: who was called otherwise than the others, or cannot do what it is
asked for, is named in the same error on every rank, where training would give nonsense or hang.
"""

import hashlib
import json
from typing import Any, Dict, List, Optional

import torch
import torch.distributed as dist
from torch import nn

from weft import _torch as _native

__all__ = ["agree", "copy_from_rank_0", "layout_of", "unite_memory"]


def layout_of(model: nn.Module) -> List[str]:
    """What of a model must be the same on all ranks, in words."""
    tensors = [("parameter" if p.requires_grad else "frozen parameter", name, p)
               for name, p in model.named_parameters()]
    tensors += [("buffer", name, b) for name, b in model.named_buffers()]
    return [f"{kind} {name} {tuple(t.shape)} {t.dtype}" for kind, name, t in tensors]


def agree(group: Any, problem: Optional[str], said: Dict[str, str], layout: List[str],
          call: str = "wrap()") -> None:
    """Every rank tells what it was asked for, or the ``problem`` that it has with it.

    Raises:
        ValueError: the same on every rank.
    """
    digest = hashlib.sha256("\n".join(layout).encode()).hexdigest()
    own = json.dumps({"problem": problem, "said": said, "layout": digest})
    everyone = [json.loads(one) for one in _native.gather(group, own)]
    problems = [one["problem"] for one in everyone]
    if any(problems):
        raise ValueError(_problem(problems))
    for name in everyone[0]["said"]:
        values = [one["said"].get(name, "") for one in everyone]
        if len(set(values)) > 1:
            raise ValueError(f"{name} is {_by_rank(values)}; all ranks must call {call} alike")
    if len({one["layout"] for one in everyone}) > 1:
        layouts = [json.loads(one) for one in _native.gather(group, json.dumps(layout))]
        raise ValueError(_difference(layouts))


def copy_from_rank_0(tensors: List[torch.Tensor], group: Any) -> None:
    """Makes the tensors, of any types, those of rank 0. Every rank has as many, of the same shapes."""
    if not tensors:
        return
    with torch.no_grad():
        plain = [t.detach().contiguous().reshape(-1) for t in tensors]
        packed = torch.cat([t.view(torch.uint8) for t in plain])
        options = torch.distributed.BroadcastOptions()
        options.rootRank = options.rootTensor = 0
        group.broadcast([packed], options).wait()
        sizes = [t.numel() * t.element_size() for t in plain]
        for tensor, own, piece in zip(tensors, plain, packed.split(sizes)):
            # A piece may begin at any byte: its copy begins where numbers may.
            tensor.copy_(piece.clone().view(own.dtype).view_as(tensor))


def _problem(problems: List[Optional[str]]) -> str:
    if len(set(problems)) == 1:
        return str(problems[0])
    return "; ".join(f"rank {rank}: {text}" for rank, text in enumerate(problems) if text)


def unite_memory(optimizer: torch.optim.Optimizer, group: Any) -> None:
    """What ranks' optimizers remember becomes the mean of those that remember it, on all ranks, so that
    the same gradients lead to the same parameters from then on. Every rank calls it."""
    parameters = [p for one in optimizer.param_groups for p in one["params"]]
    own = [_remembered(optimizer.state.get(p, {})) for p in parameters]
    everyone = [json.loads(one) for one in _native.gather(group, json.dumps(own))]
    for parameter, known in zip(parameters, zip(*everyone)):
        state = optimizer.state[parameter] if any(known) else {}
        for name in sorted({name for one in known for name in one}):
            entries = [one[name] for one in known if name in one]
            if not isinstance(entries[0], list):  # a count of steps
                state[name] = max(entries)
                continue
            if state.get(name) is None:
                state[name] = torch.zeros(entries[0], dtype=parameter.dtype)
            dist.all_reduce(state[name], group=group)
            state[name].div_(len(entries))


def _remembered(state: Dict[str, Any]) -> Dict[str, Any]:
    """Shapes of tensors, and numbers."""
    found: Dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            found[name] = list(value.shape)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = value
    return found


def _by_rank(values: List[str]) -> str:
    parts = []
    for value in dict.fromkeys(values):
        ranks = [str(rank) for rank, own in enumerate(values) if own == value]
        parts.append(f"'{value}' on rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)}")
    return " and ".join(parts)


def _difference(layouts: List[List[str]]) -> str:
    longest = max(len(layout) for layout in layouts)
    for place in range(longest):
        values = [layout[place] if place < len(layout) else "nothing" for layout in layouts]
        if len(set(values)) > 1:
            return f"the model differs: {_by_rank(values)}; all ranks must have the same one"
    raise AssertionError("layouts with different digests are different")
