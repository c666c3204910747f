"""The search of papers/1 §3.1, as it is written there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modicum.minimizers.guiding.cell_search import Stands
from modicum.minimizers.guiding.setting import Setting


@dataclass(frozen=True)
class PaperStep:
    """One iteration: the tree's level, the attributes taken out of the generalization, and the agreement reached."""

    stands: Stands
    kept: list[int]
    agreement: float
    hidden: float


def paper(setting: Setting, representatives: str) -> list[PaperStep]:
    """Its iterations, the chosen one last.

    Where the leaves of the homogeneous tree reach the target, the tree is pruned by one level after another as long as
    they still do. Where they do not, the attribute with the lowest ILAG leaves the generalization, until they do:

        ILAG(f) = NCP(f) / gain(f), or NCP(f) where the gain is 0  (equation 3),

    with NCP(f) of the global recoding and gain(f) the rise of the agreement as f is left as it is (a fall counts as 0).
    """
    locked = [a for a, c in enumerate(setting.coder.codings) if a not in setting.free and not c.attribute.forbidden]
    steps = [_step(Stands.of(setting.tree, setting, representatives), locked, setting)]
    if steps[0].agreement >= setting.target:
        return _pruned(steps, setting, representatives)
    while steps[-1].agreement < setting.target and len(steps[-1].kept) < len(locked) + len(setting.free):
        last = steps[-1]
        left = [a for a in setting.free if a not in last.kept]
        found = [_step(last.stands, [*last.kept, a], setting) for a in left]
        losses = [_loss(last, a, setting) for a in left]
        gains = [max(0.0, step.agreement - last.agreement) for step in found]
        ilag = [loss / gain if gain else loss for loss, gain in zip(losses, gains, strict=True)]
        steps.append(found[int(np.argmin(ilag))])
    return steps


def _pruned(steps: list[PaperStep], setting: Setting, representatives: str) -> list[PaperStep]:
    for level in range(1, int(setting.nodes.heights[0]) + 1):
        step = _step(Stands.of(setting.nodes.by_level(level), setting, representatives), steps[0].kept, setting)
        if step.agreement < setting.target:
            break
        steps.append(step)
    return steps


def _step(stands: Stands, kept: Sequence[int], setting: Setting) -> PaperStep:
    agreement = 1.0 - float(stands.misses(kept).mean())
    groupings = setting.of_tree(stands.tree)
    hidden = sum(setting.losses.mean(a, g.members) for a, g in enumerate(groupings) if not g.exact and a not in kept)
    return PaperStep(stands, sorted(kept), agreement, float(hidden))


def _loss(step: PaperStep, attribute: int, setting: Setting) -> float:
    grouping = setting.of_tree(step.stands.tree)[attribute]
    return setting.losses.mean(attribute, grouping.members) / max(float(setting.losses.shares[attribute]), 1e-12)
