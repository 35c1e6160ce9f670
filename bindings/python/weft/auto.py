"""The automatic choice of codec, and if asked of the synchronisation mode.

Speeds are measured while training: those of links when the group was made, those of codecs before the
first step, compute time and when buckets become ready in the steps themselves. A cost model
(``src/timing/compression``) says what a step would take with everything there is to choose from. Rank 0
decides and tells the others. After 3, 8, 24 and 64 steps, then every 64, it looks again: where steps took
longer or shorter than expected it believes what it saw, and links are measured anew now and then. Where
parameters are averaged it does so after 3, 8 and 24 averages, then every 16: the period may change, and
gradients may be averaged again.
"""

import json
import logging
import time
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import nn

from weft import _torch as _native
from weft.agreement import unite_memory
from weft.gradients import Gradients, contents_of
from weft.measured import Rounds, Watch, adaptive, bandwidths, place

__all__ = ["AUTO", "Automatic"]

AUTO = "auto"
_LOG = logging.getLogger("weft.auto")

_SAMPLE = 1 << 20  # values on which codecs are timed, unless the model has fewer
_LOOKS, _LOOK_EVERY = (3, 8, 24), 64  # after so many steps, then every so many
_ROUNDS_EVERY = 16  # the same of averages of parameters
_SURPRISE = 0.3  # by which a step must differ from what was expected to change beliefs
_BELIEVED = 4  # steps that must have been seen for that
_SWITCH = 0.9  # of the seconds per progress that are measured, to be promised by another choice
_MOST_TIMES = 4.0  # by which one look may change a belief
_LINKS_SHARE = 0.01  # of the time may go into measuring links
_SURPRISED_SHARE = 0.03  # when steps are not as expected
_LINKS_S = 0.5  # what measuring them is taken to cost the first time
_LINKS_CHANGED = 1.5  # times as fast or slow: what was believed of codecs no longer holds
_HISTORY = 100  # decisions that explain() remembers


class Automatic(Gradients):
    """Gradients through codecs of its own choice; or what ``parameters`` makes, if the model says
    that averaging parameters pays more."""

    def __init__(
        self,
        model: nn.Module,
        group: Any,
        seed: int,
        modes: Optional[List[str]],
        optimizer: Optional[torch.optim.Optimizer],
        parameters: Callable[[str, str], Any],
    ) -> None:
        super().__init__(model, group, "none", seed)
        self.group = group
        self._through_ddp = self.forward_of
        self.forward_of = self._forward
        self._modes = modes or list(_native.AUTOMATIC_MODES)
        self._optimizer = optimizer
        self._make_parameters = parameters
        self._parameters: Any = None  # what averages parameters, once that was chosen
        self._averaging = False  # parameters, not gradients
        self._rounds = self._since = 0  # averages of parameters: seen, and when this choice was made
        self._begin: Optional[float] = None
        self._counted = -1  # the step under way
        self._watch: Any = Watch()
        self._buckets: Any = None  # bytes, when ready and matrices, and compute time, as last seen
        # Coding, by codec: before, between and after the exchanges.
        self._value_s: List[List[float]] = []
        self._slower = {codec: 1.0 for codec in _native.AUTOMATIC_CODECS}
        self._left: Any = None  # the choice before this one, and its measured seconds per progress
        self._refused: List[Any] = []  # choices that turned out worse than what they replaced
        self._links = group.links()
        self._links_at, self._links_s = time.monotonic(), _LINKS_S
        self._one_host = False
        self._answer: Dict[str, Any] = {}
        self._measured: Dict[str, Any] = {}
        self._decisions: List[Dict[str, Any]] = []

    # -- what a wrapped model asks for

    @property
    def step(self) -> int:
        return super().step + (self._parameters.step if self._parameters else 0)

    @property
    def rounds(self) -> int:
        return self._hook.passes + (self._parameters.rounds if self._parameters else 0)

    def explain(self) -> Dict[str, Any]:
        return {**self._answer, "links": self._links, "measured": self._measured,
                "decisions": list(self._decisions)}

    def finish(self) -> None:
        if self._parameters:
            self._parameters.finish()

    def begin_anew(self) -> None:
        super().begin_anew()
        if self._averaging:
            self._parameters.begin_anew()
            self._rounds = self._since = self._parameters.rounds

    def release(self) -> None:
        super().release()
        self.group = None
        if self._parameters:
            self._parameters.release()

    def save(self) -> List[bytes]:
        head: Dict[str, Any] = {"mode": self._answer.get("mode", "bsp"), "slower": self._slower}
        if self._averaging:
            head["codec"] = self._answer["codecs"][0]
            blobs = [self._parameters.state()]
        else:
            hook = self._hook
            used = sorted(set(hook.held.values()) - {"none"})
            blobs = [hook.compressor(codec).save() for codec in used]
            head.update(codec=hook.codec, codecs=hook.codecs, used=used,
                        held={str(number): codec for number, codec in hook.held.items()})
        head["bytes"] = [len(blob) for blob in blobs]
        own = json.dumps(head).encode() + b"\n" + b"".join(blobs)
        return _native.gather(self.group, own)

    def restore(self, saved: List[bytes]) -> None:
        if not saved:
            raise ValueError("state_dict['weft'] has no rank's state")
        heads, blobs = zip(*(_taken_apart(one) for one in saved))
        head = heads[0]
        if head["mode"] not in self._modes:
            raise ValueError(f"state_dict was made with sync '{head['mode']}', which is not one of "
                             f"{', '.join(self._modes)}")
        self._hook.forget()
        self._begin = None
        known = head["slower"]
        self._slower = {codec: float(known.get(codec, 1.0)) for codec in self._slower}
        if head["mode"] != "bsp":
            self._rest()
            self._answer = {"mode": head["mode"], "codecs": [head["codec"]],
                            "reason": "as in the state that was loaded"}
            self._average_parameters()
            self._parameters.restore([one[0] for one in blobs])
            self._rounds = self._since = self._parameters.rounds
            return
        self._rest()
        hook = self._hook
        hook.codec, hook.codecs = head["codec"], head["codecs"]
        if head["held"]:
            self._answer = {"mode": "bsp", "codecs": hook.codecs or [hook.codec],
                            "reason": "as in the state that was loaded"}
        hook.held = {int(number): codec for number, codec in head["held"].items()}
        for place, codec in enumerate(head["used"]):
            hook.compressor(codec).restore([one[place] for one in blobs])

    # -- steps

    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled() and self.step != self._counted:
            self._begin_step()
        return (self.model if self._averaging else self._through_ddp)(*args, **kwargs)

    def _begin_step(self) -> None:
        due = self._note(time.monotonic())
        self._counted = self.step
        if not self._value_s:
            self._calibrate()
        elif due and not self._one_host:
            self._look()
        self._begin = time.monotonic()

    def _note(self, now: float) -> bool:
        """Remembers the step that has ended. True: it is time to look, and all ranks have the same
        parameters."""
        hook, begin = self._hook, self._begin
        if not self._averaging:
            if begin is not None:
                self._watch.add(begin, now, hook.ready, hook.done)
            return hook.passes % _LOOK_EVERY == 0 or hook.passes in _LOOKS
        averaged = self._parameters.rounds != self._rounds
        self._rounds = self._parameters.rounds
        if begin is not None:
            self._watch.add(begin, now, averaged)
        done = self._rounds - self._since
        return averaged and (done % _ROUNDS_EVERY == 0 or done in _LOOKS)

    def _calibrate(self) -> None:
        """Times the codecs on all ranks at once, since ranks may share processors."""
        values = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        self._one_host = len({bytes(one) for one in _native.gather(self.group, place())}) == 1
        codecs = _native.AUTOMATIC_CODECS
        self._value_s = [[0.0, 0.0, 0.0] for _ in codecs]
        if not self._one_host:
            # Codecs are chosen by measured speeds, so that bits differ from run to run anyway.
            self.group.let_order_vary()
            own = _native.coding_speeds(codecs, min(values, _SAMPLE), self.group.size())
            everyone = [json.loads(one) for one in _native.gather(self.group, json.dumps(own))]
            self._value_s = [[max(part) for part in zip(*codec)] for codec in zip(*everyone)]
        if not self._answer:  # else a state was loaded
            self._hook.before_pass = self._decide_first

    def _decide_first(self, first_bytes: int) -> None:
        """One codec for all buckets, when the first of the first pass is ready: by the time until
        then, of which the forward pass is taken to be half of what the whole backward pass is."""
        self._hook.before_pass = None
        total = 4.0 * sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        own = (time.monotonic() - self._begin) / (1 / 3 + 2 / 3 * first_bytes / total)
        compute_s = max(float(one) for one in _native.gather(self.group, repr(own)))
        self._measured = {"compute_s": compute_s, "after_steps": 0}
        self._buckets = self._one_bucket(compute_s), compute_s
        self._decide(["bsp"], None)

    def _one_bucket(self, compute_s: float) -> List[Any]:
        trained = [p for p in self.model.parameters() if p.requires_grad]
        return [(4.0 * sum(p.numel() for p in trained), compute_s, contents_of(trained)[1])]

    def _look(self) -> None:
        """Takes together what all ranks measured and decides again."""
        since = time.monotonic() - self._links_at
        text = (self._watch.text(since) if self._averaging
                else self._watch.text(self._hook.sizes, since))
        seen = [json.loads(one) for one in _native.gather(self.group, text)]
        self._watch = Rounds() if self._averaging else Watch()
        if None in seen:
            return
        step_s, busy_s = (max(one[key] for one in seen) for key in ("step_s", "busy_s"))
        if self._averaging:
            buckets, before_s = self._buckets or (self._one_bucket(busy_s), busy_s)
            times = busy_s / before_s if before_s > 0 else 1.0
            self._buckets = [(size, ready * times, held) for size, ready, held in buckets], busy_s
        else:
            sizes = seen[0]["sizes"]
            ready_s = [max(column) for column in zip(*(one["ready_s"] for one in seen))]
            ready_s, compute_s = self._computing(sizes, ready_s, busy_s)
            self._buckets = list(zip(map(float, sizes), ready_s, self._hook.matrices())), compute_s
        compute_s = self._buckets[1]
        self._measured = {"step_s": step_s, "compute_s": compute_s, "after_steps": self.step}
        believed = seen[0]["steps"] >= _BELIEVED
        surprised = believed and self._believe(step_s, compute_s)
        # All ranks must agree on whether to: by the clock of rank 0.
        self._measure_links(seen[0]["links_s"], _SURPRISED_SHARE if surprised else _LINKS_SHARE)
        if believed and self._goes_back(step_s):
            return
        self._decide(self._modes, step_s)

    def _computing(self, sizes: List[int], ready_s: List[float], busy_s: float) -> Any:
        """When buckets would be ready, and how long a step would take, were nothing coded: what is
        encoded meanwhile makes later buckets late, and what is coded before the last is ready makes
        the step longer."""
        speeds = dict(zip(_native.AUTOMATIC_CODECS, self._value_s))
        coding = [[part * size / 4 for part in speeds[self._hook.codec_of(index, False)]]
                  for index, size in enumerate(sizes)]
        late, computed = 0.0, []
        for ready, (before, _, _) in zip(ready_s, coding):
            computed.append(max(ready - late, computed[-1] if computed else 0.2 * ready))
            late += before
        compute_s = busy_s - sum(sum(one) for one in coding[:-1])
        return computed, max(compute_s, computed[-1])

    def _believe(self, step_s: float, compute_s: float) -> bool:
        """Where coding and exchange took longer than predicted, so they will next time: then True.
        Whether that is the codec's doing or that of processors and links, which all codecs share,
        one run cannot tell: each gets half of it."""
        predicted = self._answer.get("predicted")
        if not predicted:
            return False
        expected = predicted["coding_s"] + predicted["exposed_s"]
        if abs(step_s - compute_s - expected) <= _SURPRISE * step_s or expected <= 0:
            return False
        times = (step_s - compute_s) / expected
        times = min(max(times, 1 / _MOST_TIMES), _MOST_TIMES)
        used = set(self._answer["codecs"])
        # A plain average that takes longer than its bytes do waits for ranks that come late. It
        # would do so with any codec; and if it is the links, they are measured.
        if used == {"none"} and times > 1:
            return True
        for codec in self._slower:
            self._slower[codec] *= times if codec in used else times ** 0.5
        return True

    def _goes_back(self, step_s: float) -> bool:
        """Back to what was left for this choice, where that was faster; this one is not tried again
        until links change."""
        left, self._left = self._left, None
        if left is None:
            return False
        answer, progress_s = left
        if step_s / self._worth() <= progress_s:
            return False
        self._refused.append(_key(self._answer))
        reason = (f"{_named(answer)} with {answer['mode']}: it was measured, and "
                  f"{_named(self._answer)}, tried after it, was slower")
        self._adopt({**answer, "reason": reason})
        return True

    def _worth(self) -> float:
        """Progress of a step, as the choice in use promises it."""
        return float(self._answer.get("predicted", {}).get("efficiency") or 1.0)

    def _measure_links(self, elapsed: float, share: float) -> None:
        if elapsed * share < self._links_s:
            return
        begin = time.monotonic()
        before = bandwidths(self._links)
        self.group.measure_links_again()
        self._links = self.group.links()
        took = [float(one) for one in
                _native.gather(self.group, repr(time.monotonic() - begin))]
        self._links_s, self._links_at = max(took), time.monotonic()
        for old, new in zip(before, bandwidths(self._links)):
            if not 1 / _LINKS_CHANGED < new / old < _LINKS_CHANGED:
                self._slower = {codec: 1.0 for codec in self._slower}
                self._left, self._refused = None, []

    def _decide(self, modes: List[str], measured_s: Optional[float]) -> None:
        buckets, compute_s = self._buckets
        codecs = list(zip(_native.AUTOMATIC_CODECS, self._value_s, self._slower.values()))
        if self._one_host:
            codecs, modes = codecs[:1], modes[:1]
        told = ""
        if self.group.live_rank() == 0:
            told = _native.choose(self.group, buckets, compute_s, codecs, modes,
                                  adaptive(self._optimizer))
        answer = json.loads(_native.gather(self.group, told)[0])
        if self._one_host:
            answer["reason"] = ("none with bsp: all ranks are on one host, where bytes move as fast "
                                "as codecs read them")
        _LOG.debug("after %d steps: measured %s, slower %s, buckets %s; considered %s",
                   self.step, self._measured, self._slower, buckets,
                   [(one["codec"], one["sync"], one["coding_s"], one["exposed_s"], one["step_s"],
                     one["progress_s"]) for one in answer["considered"]])
        answer["buckets"] = [{"bytes": size, "ready_s": ready} for size, ready, _ in buckets]
        if self._answer and not self._better(answer, measured_s):
            # What is measured anew is told; what is done stays.
            for key in ("considered", "buckets"):
                self._answer[key] = answer[key]
            return
        if self._answer and measured_s is not None:
            self._left = (self._answer, measured_s / self._worth())
        self._adopt(answer)

    def _adopt(self, answer: Dict[str, Any]) -> None:
        was_averaging, self._answer = self._averaging, answer
        self._decisions.append(
            {"after_steps": self.step, "mode": answer["mode"], "codecs": answer["codecs"],
             "reason": answer["reason"]})
        del self._decisions[:-_HISTORY]
        _LOG.info("after %d steps: %s", self.step, answer["reason"])
        if was_averaging:
            self._parameters.leave()
            self._rest()
        if answer["mode"] != "bsp":
            self._average_parameters()
            return
        if was_averaging:
            unite_memory(self._optimizer, self.group)
        uniform = set(answer["codecs"])
        self._hook.codec = answer["codecs"][-1] if answer["codecs"] else "none"
        self._hook.codecs = [] if len(uniform) == 1 else answer["codecs"]

    def _rest(self) -> None:
        """Parameters are averaged no longer; those of all ranks are the same."""
        if not self._averaging:
            return
        if not self._parameters.resting:
            self._parameters.rest()
        self._averaging, self._watch, self._begin = False, Watch(), None

    def _better(self, answer: Dict[str, Any], measured_s: Optional[float]) -> bool:
        if measured_s is None or _key(answer) in (_key(self._answer), *self._refused):
            return False
        return bool(answer["predicted"]["progress_s"] <= _SWITCH * measured_s / self._worth())

    def _average_parameters(self) -> None:
        """Leaves gradients to the ranks; what was held back of them goes into their next step."""
        owed = self._hook.take_all()
        codec, mode = self._answer["codecs"][0], self._answer["mode"]
        if self._parameters is None:
            self._parameters = self._make_parameters(codec, mode)
        else:
            self._parameters.take_up(codec, mode)
        self._averaging, self._watch, self._begin = True, Rounds(), None
        self._rounds = self._since = self._parameters.rounds
        self._parameters.before_closure = self._before_closure
        self._parameters.owed = owed

    def _before_closure(self) -> None:
        if self.step != self._counted:
            self._begin_step()


def _named(answer: Dict[str, Any]) -> str:
    return ", ".join(dict.fromkeys(answer["codecs"]))


def _key(answer: Dict[str, Any]) -> Any:
    """The same for the same choice, however buckets are divided where all have one codec."""
    codecs = answer["codecs"]
    return answer["mode"], codecs[:1] if len(set(codecs)) == 1 else codecs


def _taken_apart(saved: bytes) -> Any:
    """What save() wrote, from any source."""
    try:
        line, rest = bytes(saved).split(b"\n", 1)
        head = json.loads(line)
        sizes = [int(size) for size in head["bytes"]]
        if sum(sizes) != len(rest) or min(sizes, default=0) < 0:
            raise ValueError(f"{len(rest)} bytes in place of {sum(sizes)}")
        wanted = ("mode", "slower", "codec") + (("codecs", "used", "held") if head["mode"] == "bsp" else ())
        missing = [key for key in wanted if key not in head]
        if not isinstance(head["slower"], dict):
            raise ValueError("'slower' is no object")
        if missing or len(sizes) != (len(head["used"]) if head["mode"] == "bsp" else 1):
            raise ValueError(f"nothing of {missing}" if missing else f"{len(sizes)} parts")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"state_dict['weft'] is no state of codec 'auto': {error}") from None
    blobs, at = [], 0
    for size in sizes:
        blobs.append(rest[at:at + size])
        at += size
    return head, blobs
