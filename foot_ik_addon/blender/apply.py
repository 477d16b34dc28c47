"""From a sample of the animated rig to the channels that show it corrected."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import bpy
import numpy as np

from ..core.edits import Edit
from ..core.footprints import lay_footprints, sliding_frame
from ..core.motions import about, channels_along, leg_motions, location_change, pole_motion
from ..core.plan import Options, Plan, follow
from ..core.pose import Corrected, LegJob, Rows, correct, joined_rows, local_turns, weighted
from ..core.rest import Limits
from ..core.rotations import IDENTITY, rotate, transform
from .ground import MeshGround
from .handles import PLACE, POLE, Handle
from .refusals import refuse_missing_collection, refuse_unturned
from .rig import Refusal, Rig, read_rig, used_legs
from .sampling import Sample, joined, leg_length, to_clip
from .sheared import ROUNDS, aimed_off, is_sheared
from .store import SavedPlan, unpack_plan, unpack_sole


@dataclass(frozen=True)
class Channels:
    """Corrected channels over frames, of the bones that are written."""

    location: dict[str, np.ndarray]
    """{bone: (F, 3)}"""
    rotation: dict[str, np.ndarray]
    """{bone: (F, 3, 3)} in the bone's own channel space."""
    scale: dict[str, np.ndarray]
    """{bone: (F,)}: factor of the scale channels; only of legs that may stretch."""
    corrected: Corrected
    """The motion of the bones that they come from."""
    written: dict[tuple, np.ndarray] = field(default_factory=dict)
    """{modes and animated channels of the bones: what `live` wrote for them}, the last."""

    def row(self, i: int) -> Channels:
        """One of its frames."""
        some = lambda of: {name: rows[i : i + 1] for name, rows in of.items()}
        return Channels(some(self.location), some(self.rotation), some(self.scale), self.corrected.row(i))


@dataclass(frozen=True)
class Weights:
    """Weights of the settings over frames; legs as in `Rig.legs`."""

    position: np.ndarray
    rotation: np.ndarray
    lock: np.ndarray
    """(F, legs)"""
    lean: np.ndarray
    """(F,): without the influence."""

    def take(self, rows: list[int] | np.ndarray) -> Weights:
        """Some of its frames."""
        return Weights(*(getattr(self, f.name)[rows] for f in fields(self)))


@dataclass(frozen=True, eq=False)
class Request:
    """All that the corrected channels of some frames are made of."""

    rig: Rig
    jobs: tuple[LegJob, ...]
    fps: float
    sample: Sample
    weights: Weights
    saved: SavedPlan

    @cached_property
    def key(self) -> tuple:
        """What tells requests apart; a plan by itself, since the same text is decoded once."""
        sample, weights = self.sample, self.weights
        parts = [sample.world, sample.carrier, sample.poses, sample.bases, sample.location,
                 *sample.axes.values(), weights.position, weights.rotation, weights.lock, weights.lean]
        same = b"".join([part.tobytes() for part in parts])
        return self.saved, self.rig, tuple(sample.frames.tolist()), self.jobs, self.fps, same

    @cached_property
    def build(self) -> tuple:
        """What requests have in common that can be solved in one batch."""
        return self.rig, self.jobs, self.fps, self.saved.on_toe(self.rig)


MOST_SOLVED = 4096
"""Frames of rigs that are remembered, some kilobytes each."""
_solved: dict[tuple, Channels] = {}
"""{key of a request: what came of it}: a loop that is played again, or a frame that is seen again, is not solved again.
The key holds all that the answer depends on, so it cannot be out of date."""


def read_weights(ob: bpy.types.Object) -> Weights:
    """The weights of an evaluated object, as one frame; the influence is worked in."""
    influence, legs = ob.foot_ik.influence, used_legs(ob)
    rows = [
        [[influence * leg.position_weight for leg in legs]],
        [[influence * leg.rotation_weight for leg in legs]],
        [[leg.lock_weight for leg in legs]],
    ]
    position, rotation, lock = np.array(rows)
    return Weights(position, rotation, lock, np.array([ob.foot_ik.lean]))


def joined_weights(weights: list[Weights]) -> Weights:
    """Weights of single frames as one."""
    return Weights(*(np.concatenate([getattr(w, f.name) for w in weights]) for f in fields(Weights)))


def saved_plan(ob: bpy.types.Object, rig: Rig) -> SavedPlan | None:
    """The plan of an object, or None where there is none for its legs as they are set up now."""
    text = ob.foot_ik.plan  # read once: of a long clip it is megabytes
    saved = unpack_plan(text) if text else None
    return saved if saved and set(saved.legs) >= {leg.foot for leg in rig.legs} else None


def options_of(ob: bpy.types.Object, edits: tuple[tuple[Edit, ...], ...] = ()) -> Options:
    """The planner's options from the settings."""
    s = ob.foot_ik
    return Options(
        Limits(s.max_pitch, s.max_roll, s.max_step, s.max_shift),
        tuple(leg.reach == "PELVIS" for leg in used_legs(ob)),
        edits,
    )


def rows_at(saved: SavedPlan, rig: Rig, frames: np.ndarray, weights: Weights) -> Rows:
    """The plan at frames (F,), which may lie between its rows, with weights applied."""
    plan = saved.plan
    at = np.clip(frames - saved.start, 0, len(plan) - 1)
    low = np.minimum(np.floor(at).astype(int), max(len(plan) - 2, 0))
    high = np.minimum(low + 1, len(plan) - 1)
    part = at - low

    def between(rows: np.ndarray) -> np.ndarray:
        share = part.reshape(-1, *[1] * (rows.ndim - 2))
        return rows[:, low] * (1 - share) + rows[:, high] * share

    at = [saved.legs.index(leg.foot) for leg in rig.legs]
    motion = weighted(between(saved.motion)[:, :, at], weights.lock)
    move = motion[..., :3] * weights.position[..., None]
    turn, bend = (motion[..., part] * weights.rotation[..., None] for part in (slice(3, 6), slice(6, 9)))
    leans = (plan.lean[low] * (1 - part)[:, None] + plan.lean[high] * part[:, None]) * weights.lean[:, None]
    whole, lock = weights.position.mean(1), weights.lock.mean(1)
    pelvis = (weighted(between(plan.pelvis), lock) + weighted(between(plan.sink), lock) * weights.lean) * whole
    every = lambda rows: np.broadcast_to(rows, (len(frames), *rows.shape))
    ball = np.stack([plan.feet[i].ball for i in at])
    return Rows(every(ball), saved.on_toe(rig), move, turn, bend, pelvis, every(plan.reach[at]), leans * whole[:, None])


def plan_of_frame(
    ob: bpy.types.Object, rig: Rig, sample: Sample, fps: float, depsgraph: bpy.types.Depsgraph
) -> SavedPlan | None:
    """A plan of one frame by itself: the ground under each foot, its tilt, the pelvis; nothing is locked.

    None where the soles are not known, since `detect_legs` has not looked at the clip.
    """
    if not all(leg.sole for leg in used_legs(ob)):
        return None
    refuse_missing_collection(ob)
    clip, _ = to_clip(sample, rig, fps)
    soles = [unpack_sole(leg.sole) for leg in used_legs(ob)]
    ground = MeshGround(ob)
    ground.visit(depsgraph, float(sample.frames[0]))
    unit = leg_length(sample, rig)
    ground.settle(sample.carrier, unit)
    options = options_of(ob)
    prints = lay_footprints(clip, soles, [[sliding_frame(0)] for _ in soles], ground, options.limits)
    plan: Plan = follow(clip, soles, prints, ground, options)
    return SavedPlan(int(sample.frames[0]), tuple(leg.foot for leg in rig.legs), plan, (), unit)


def request_of(
    ob: bpy.types.Object,
    rig: Rig,
    sample: Sample,
    fps: float,
    saved: SavedPlan | None,
    weights: Weights,
    depsgraph: bpy.types.Depsgraph | None = None,
) -> Request | None:
    """What the correction of a sample is made of; None where nothing is known of its frames.

    Without a plan `depsgraph` gives the ground of a sample of one frame.
    """
    if saved is None or (len(sample) == 1 and not in_range(saved, sample.frames[0])):
        saved = plan_of_frame(ob, rig, sample, fps, depsgraph) if depsgraph else None
    return saved and Request(rig, jobs(ob, rig), fps, sample, weights, saved)


def corrected_channels(ob: bpy.types.Object, request: Request | None) -> Channels | None:
    """The channels that show a sample of an armature corrected; None for no request.

    The live frame and the bake both come here. What `remember` has solved is not solved again.
    """
    if request is None:
        return None
    channels = _solved.get(request.key) if len(request.sample) == 1 else None
    if channels is None:
        channels = solve([request])
    if channels.corrected.leans:
        refuse_unturned(ob, request.rig)
    return channels


def solve(requests: list[Request]) -> Channels:
    """The channels of several requests of the same build, one after the other."""
    first = requests[0]
    sample = joined([r.sample for r in requests])
    rows = joined_rows([rows_at(r.saved, r.rig, r.sample.frames, r.weights) for r in requests])
    units = np.concatenate([np.full(len(r.sample), r.saved.unit) for r in requests])
    clip, to_rig = to_clip(sample, first.rig, first.fps, units[:, None, None])
    solution = lambda rows: correct(clip, chains_of(sample, first.rig), to_rig, first.jobs, rows)
    channels = to_channels(sample, first.rig, solution(rows))
    wanted = channels.corrected
    for _ in range(ROUNDS if is_sheared(sample, first.rig) else 0):
        linear, made = to_rig[:, :3, :3], (channels.rotation, channels.scale)
        rows = aimed_off(sample, first.rig, linear, wanted, rows, *made)
        channels = replace(to_channels(sample, first.rig, solution(rows)), corrected=wanted)
    return channels


def remember(requests: list[Request]) -> None:
    """Solve requests of single frames, those of the same build together, for `corrected_channels` to find.

    A batch in which one cannot be solved is left to that, which tells whose it is; so are plans of one frame, which are
    made anew each time.
    """
    builds: dict[tuple, list[Request]] = {}
    for request in requests:
        if len(request.saved.plan) > 1 and request.key not in _solved:
            builds.setdefault(request.build, []).append(request)
    for alike in builds.values():
        with suppress(Refusal, ArithmeticError, ValueError):
            channels = solve(alike)
            for i, request in enumerate(alike):
                _solved[request.key] = channels.row(i)
    if len(_solved) > MOST_SOLVED:
        for key in list(_solved)[: len(_solved) - MOST_SOLVED]:  # a render may do the same in its own thread
            _solved.pop(key, None)


def shown_before(ob: bpy.types.Object, modes: tuple[str, ...]) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """(frame, animated channels, those written in their place) of the frames of the plan of an object that are
    remembered; (bones, 10) of the bones of its rig, in these rotation modes."""
    try:
        rig = read_rig(ob)
        saved = saved_plan(ob, rig)
    except Refusal:
        return []
    return [
        (key[2][0], np.frombuffer(animated, np.float32).reshape(values.shape), values)
        for key, channels in _solved.items()
        if key[:2] == (saved, rig)
        for (those, animated), values in channels.written.items()
        if those == modes
    ]


def chains_of(sample: Sample, rig: Rig) -> tuple[np.ndarray, ...]:
    """Per leg the joints (F, bones, 3) of its chain, in armature space."""
    return tuple(np.stack([sample.pose[n][:, :3, 3] for n in leg.chain], 1) for leg in rig.legs)


def in_range(saved: SavedPlan, frame: float) -> bool:
    """Whether a plan covers a frame. Motion blur looks at sub-frames before the first and after the last: there too."""
    return saved.start - 1 < frame < saved.start + len(saved.plan)


def jobs(ob: bpy.types.Object, rig: Rig) -> tuple[LegJob, ...]:
    """How each leg is solved, from the settings."""
    out = []
    for leg, bones, carried in zip(used_legs(ob), rig.legs, rig.carried, strict=True):
        stretches = leg.reach == "STRETCH" and not bones.handles  # controls stretch a leg by themselves, or not at all
        out.append(LegJob(bones.solver, leg.max_stretch if stretches else 0.0, carried))
    return tuple(out)


def to_channels(sample: Sample, rig: Rig, corrected: Corrected) -> Channels:
    """The motion of bones in armature space as channel values."""
    scale = {}
    pose, basis = (of[rig.body][:, None] for of in (sample.pose, sample.basis))
    rotation = {rig.body: local_turns(pose, basis, corrected.body[:, None])[:, 0]}
    arm = sample.pose[rig.body][:, :3, 3] - sample.pose[rig.pelvis][:, :3, 3]
    moved = corrected.pelvis + rotate(corrected.body - IDENTITY, arm)
    location = {rig.body: basis[:, 0, :3, 3] + location_change(sample.location, moved)}
    own = [i for i, leg in enumerate(rig.legs) if not leg.handles]
    for kind in {(len(rig.legs[i].written), rig.carried[i]) for i in own}:
        # Legs of as many bones go together.
        legs = [i for i in own if (len(rig.legs[i].written), rig.carried[i]) == kind]
        at = [[sample.bones.index(name) for name in rig.legs[i].written] for i in legs]
        turns = np.stack([corrected.turns[i][:, : kind[0]] for i in legs], 1)
        body = corrected.body[:, None] if kind[1] else None
        inherits = np.array([rig.legs[i].inherits for i in legs])
        turns = local_turns(sample.poses[:, at], sample.bases[:, at], turns, body, inherits)
        rotation |= {name: turns[:, k, j] for k, i in enumerate(legs) for j, name in enumerate(rig.legs[i].written)}
    for i in own:
        if (corrected.stretch[:, i] != 1).any():
            scale |= {rig.legs[i].upper: corrected.stretch[:, i], rig.legs[i].foot: 1 / corrected.stretch[:, i]}
    motions = motions_of(sample, rig, corrected) if rig.handles else {}
    for handle in rig.handles:
        pose, basis = sample.pose[handle.bone], sample.basis[handle.bone]
        carrier = carried_by(handle, pose[:, :3, 3], motions)
        rotation[handle.bone], location[handle.bone] = channels_along(
            pose, basis, sample.axes[handle.bone], motions[handle.bone], carrier
        )
    return Channels(location, rotation, scale, corrected)


def motions_of(sample: Sample, rig: Rig, corrected: Corrected) -> dict[str, np.ndarray]:
    """{bone: (F, 4, 4)}: the motions of the body, of the legs' bones and of their handles, in armature space."""
    head = sample.pose[rig.pelvis][:, :3, 3]
    out = {rig.pelvis: about(corrected.body, head, head + corrected.pelvis)}
    out[rig.body] = out[rig.pelvis]
    for i, (leg, joints) in enumerate(zip(rig.legs, chains_of(sample, rig), strict=True)):
        toe = sample.pose[leg.toe][:, :3, 3] if leg.bends else None
        bones = leg_motions(joints, toe, corrected, i)
        out |= dict(zip((*leg.chain, leg.toe), bones, strict=False))
        for handle in leg.handles:
            motion = pole_motion(joints, corrected, i) if handle.way == POLE else out[handle.follows]
            if handle.way == PLACE:
                ankle = sample.pose[handle.follows][:, :3, 3]
                motion = about(np.broadcast_to(np.eye(3), motion[:, :3, :3].shape), ankle, transform(motion, ankle))
            out[handle.bone] = motion
    return out | {handle.bone: out[handle.follows] for handle in rig.others}


def carried_by(handle: Handle, head: np.ndarray, motions: dict[str, np.ndarray]) -> np.ndarray:
    """(F, 4, 4): the motion that a handle with its head (F, 3) makes although nothing is written to it."""
    still = np.broadcast_to(np.eye(4), (len(head), 4, 4))
    motion = motions[handle.carrier] if handle.carrier else still
    return motion if handle.turned else about(still[:, :3, :3], head, transform(motion, head))
