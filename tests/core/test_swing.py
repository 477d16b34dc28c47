"""Swings that would cut the ground are carried over it. Tested through the plan, whose corrections hold the lift."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from core import grounds, walks
from core.figures import options
from core.walks import LEFT, clip_of

from foot_ik_addon.core.clip import BALL, LEG, Leg
from foot_ik_addon.core.correction import Motion
from foot_ik_addon.core.plan import Plan, make_plan
from foot_ik_addon.core.swing import clear_swings, kept_from_hip

MM = 1e-3 * LEG


@dataclass(frozen=True)
class Swung:
    plan: Plan
    before: np.ndarray
    after: np.ndarray
    stands: np.ndarray

    @property
    def lift(self) -> np.ndarray:
        """(F,): how far the ball is higher than animated."""
        return self.after[:, BALL, 2] - self.before[:, BALL, 2]


def swung(walk: walks.Walk, ground, lock: int = 1) -> Swung:
    """The left foot as planned, before the legs are solved."""
    clip = clip_of(walk)
    plan = make_plan(clip, ground, options())
    foot, before = plan.feet[LEFT], plan.soles[LEFT].tracks(clip.legs[LEFT])
    motion = Motion(foot.move[lock], foot.turn[lock], foot.bend[lock])
    stands = np.zeros(len(clip), bool)
    for p in plan.prints[LEFT]:
        stands[p.contact.start : p.contact.stop] = True
    return Swung(plan, before, motion.of_sole(before, plan.soles[LEFT], clip.legs[LEFT]), stands)


def hurdle(height: float, depth: float = 0.15, at: float = 0.5) -> grounds.Pieces:
    """A box in the way of the left foot only, between its footprints at y = 0 and 1.2 m; over it the foot is 7 cm
    high."""
    return grounds.still(lambda x, y: np.where((x < 0) & (y > at) & (y < at + depth), height, 0.0))


@pytest.mark.parametrize("fps", [30, 60])
@pytest.mark.parametrize("height", [0.12, 0.25])
@pytest.mark.parametrize("lock", [0, 1])
def test_a_box_in_the_way_is_cleared(height, fps, lock):
    """No point of the sole cuts it, to 1 mm, in any frame."""
    ground = hurdle(height)
    s = swung(walks.stride(fps=fps), ground, lock)
    air = ~s.stands
    assert s.lift[air].max() > 10 * MM, "there is something to clear"
    assert ground.gap(s.after)[air].min() > -1 * MM


def test_a_heel_that_has_just_come_over_a_step_clears_it():
    """Though the sole that is taken to be wider is not over it with its heel: that is still in front of the edge."""
    count, dips = 20, 10
    clip = walks.part(clip_of(walks.stride()), 0, count)
    foot = np.array([[0.0, -0.2, 0.0], [0.0, 0.0, 0.1], [0.0, 0.1, 0.15]])
    track = np.stack([foot + (0.0, 0.1 * f, 0.06 if f != dips else 0.04) for f in range(count)]) * LEG
    edge = 0.1 * dips - 0.2 - 0.002
    step = grounds.still(lambda x, y: np.where((y > edge) & (y < edge + 0.25), 0.05, 0.0))
    stances = [(0.0, 0.0), (count - 1.0, count - 1.0)]
    lift = clear_swings(clip, np.maximum(track, 0.0), track, stances, np.zeros(count), step)
    assert step.gap(track)[dips].min() < -9 * MM
    assert step.gap(track + lift[:, None])[dips].min() > -0.1 * MM


@pytest.mark.parametrize("time, length", [(0.28, 0.6), (0.25, 0.75)])
def test_a_foot_that_does_not_land_before_the_clip_ends_clears_the_stairs(time, length):
    """It comes from a footprint that may be half a leg lower than the steps over which it is by then."""
    ground = grounds.stairs()
    s = swung(walks.stride(8, length=length, time=time), ground)
    assert not s.stands[-3:].any()
    assert ground.gap(s.after)[~s.stands].min() > -1 * MM


def test_the_lift_begins_before_the_box_and_ends_behind_it():
    """The first sole point comes over the box when the foot already rises, and the last one leaves it while it
    sinks."""
    ground = hurdle(0.25)
    s = swung(walks.stride(fps=60), ground)
    over = np.flatnonzero(
        (
            ground.stack(s.after[..., :2].reshape(-1, 2), np.zeros(s.after[..., 0].size)).reshape(s.after.shape[:2])
            > 0.1
        ).any(1)
        & ~s.stands
    )
    inner = over[over < 80]
    lift = s.lift
    first, last = inner[0], inner[-1]
    assert lift[first - 2] > 20 * MM and lift[last + 2] > 20 * MM
    assert lift[first - 4] < lift[first] and lift[last + 4] < lift[last]


def test_the_lift_is_smooth():
    """It rises by 25 cm within half of a swing of 0.4 s: evenly accelerated up and down again that takes 4 h /
    (T/2)^2 = 25 m/s^2, and a quintic's peak is 1.45 times that. Twice over for the stretch in which the box leaves no
    choice."""
    fps = 60
    s = swung(walks.stride(fps=fps), hurdle(0.25))
    bend = np.abs(np.diff(s.lift, n=2)) * fps**2 / LEG
    assert bend.max() < 2 * 1.45 * 4 * 0.25 / 0.2**2


@pytest.mark.parametrize("fps", [120, 240])
@pytest.mark.parametrize("degrees", [15, -15])
def test_a_foot_leaves_its_footprint_gently_on_a_slope(fps, degrees):
    """Around the moments at which it leaves and lands, the correction accelerates it by less than the stride itself
    does: 43 m/s2. A clearance that is asked for at once does so by 71 at 120 fps, by 245 at 240."""
    s = swung(walks.stride(fps=fps), grounds.slope(degrees))
    added = np.linalg.norm(np.diff((s.after - s.before)[:, BALL], n=2, axis=0), axis=1) * fps**2 / LEG
    moments = np.flatnonzero(np.diff(s.stands.astype(int)))
    around = np.unique(np.add.outer(moments, np.arange(-2, 2)).clip(0, len(added) - 1))
    assert len(moments) > 2 and added[around].max() < 43


def test_twice_the_frame_rate_is_no_rougher():
    """A kink would double its acceleration at twice the frame rate."""
    worst = [
        np.abs(np.diff(swung(walks.stride(fps=fps), hurdle(0.2)).lift, n=2)).max() * fps**2 for fps in (30, 60, 120)
    ]
    assert worst[2] < 2 * worst[0]


@pytest.mark.parametrize("at", [0.5, 0.52, 0.55])
def test_the_frame_rate_does_not_change_the_lift(at):
    """Wherever between two frames the foot meets the box: to 1 mm, where a frame earlier or later makes 30."""
    slow, medium, fast = (swung(walks.stride(fps=fps), hurdle(0.2, at=at)).lift for fps in (24, 30, 60))
    np.testing.assert_allclose(fast[::2], medium, atol=1 * MM)
    np.testing.assert_allclose(slow[::4], medium[::5], atol=1 * MM)


@pytest.mark.parametrize(
    "walk",
    [walks.stride(), walks.run(), walks.shuffle(), walks.kick(), walks.turning(), walks.jump()],
    ids=["walk", "run", "shuffle", "kick", "turn", "jump"],
)
@pytest.mark.parametrize("lock", [0, 1])
def test_on_the_flat_floor_no_swing_is_lifted(walk, lock):
    """Locking moves feet by tenths of a millimetre, level; it lifts none."""
    s = swung(walk, grounds.flat(), lock)
    assert np.abs(s.lift).max() < (1e-9 if lock == 0 else 0.5 * MM)


def test_what_the_clip_itself_cuts_of_its_floor_is_not_made_good():
    """An animated foot that dips into its own floor in its swing dips into flat ground too: it is the animator's."""
    walk = walks.stride(lift=-0.06)
    s = swung(walk, grounds.flat())
    assert s.before[..., 2].min() < -10 * MM
    assert np.abs(s.lift).max() < 1 * MM


def test_feet_that_stand_are_not_lifted():
    ground = hurdle(0.25)
    s, plain = swung(walks.stride(), ground), swung(walks.stride(), grounds.flat())
    np.testing.assert_allclose(s.lift[s.stands], plain.lift[s.stands], atol=1e-9)


@pytest.mark.parametrize(
    "ground",
    [grounds.stairs(), grounds.stairs(-0.16), grounds.rubble(3), grounds.kerb(0.2, 0.4)],
    ids=["up stairs", "down stairs", "rubble", "kerb"],
)
def test_swings_clear_broken_ground(ground):
    """To 3 mm, the lab's limit; a foot of stiff sole that rolls on a riser is the contacts' affair."""
    s = swung(walks.stride(length=0.3, fps=60), ground)
    own = np.maximum(-s.before[..., 2], 0)
    assert (ground.gap(s.after) + own)[~s.stands].min() > -3 * MM


def test_a_foot_whose_way_leads_past_the_hip_is_kept_from_it():
    """As on steep stairs in a run. Straight through it the leg would turn over between two frames; kept away it folds
    no further than it may, and the foot goes round evenly. In the stance nothing is done."""
    fps, count, near = 60.0, 60, 0.2
    t = np.linspace(-1, 1, count)[:, None]
    hip = np.tile((0.0, 0.0, 1.0), (count, 1))
    ankle = hip + t * (0.0, 0.9, 0.0) + (0.02, 0.0, 0.0)
    joints = np.stack([hip, hip - (0.0, 0.1, 0.4), hip - (0.0, 0.0, 0.8)], 1)
    leg = Leg(joints, np.tile(np.eye(4), (count, 1, 1)), None)
    stands = np.abs(t[:, 0]) > 0.8
    added = kept_from_hip(leg, hip, ankle, np.full(count, near), stands, fps)
    apart = np.linalg.norm(ankle + added - hip, axis=1)
    assert np.linalg.norm(ankle - hip, axis=1).min() < 0.05 and apart.min() > near - 1e-9
    assert not added[stands].any()
    rough = np.abs(np.diff(added, n=2, axis=0)).max() * fps**2
    speed = 1.8 * fps / (count - 1)
    assert rough < 2 * speed**2 / near, "twice that of a circle round the hip, at this speed"


def test_a_foot_that_keeps_away_from_the_hip_is_left_alone():
    clip = clip_of(walks.run())
    leg, count = clip.legs[LEFT], len(clip)
    added = kept_from_hip(leg, leg.joints[:, 0], leg.joints[:, 2], np.full(count, 0.2), np.zeros(count, bool), clip.fps)
    assert not added.any()


def test_the_jitter_of_a_captured_foot_is_not_played_twice_where_its_travel_is_delayed():
    """Toes that tremble by a millimetre: the ankle, which does not, is carried over the stairs as smoothly as without.

    Delaying the travel by reading the path at another time would add the jitter of that time."""
    walk = walks.stride(3, length=0.6, fps=120)
    ground, clip = grounds.stairs(), clip_of(walk)
    plain = make_plan(clip, ground, options()).feet[LEFT].move[1]
    rng = np.random.default_rng(1)
    legs = [replace(leg, toe=leg.toe.copy()) for leg in clip.legs]
    for leg in legs:
        leg.toe[:, :3, 3] += rng.normal(0, 0.3 * MM, (len(clip), 3))
    trembling = make_plan(replace(clip, legs=tuple(legs)), ground, options()).feet[LEFT].move[1]
    rough = [np.linalg.norm(np.diff(move[:, :2], n=2, axis=0), axis=1).max() for move in (plain, trembling)]
    assert rough[0] > 1e-3 and rough[1] < 1.5 * rough[0]


def test_a_foot_that_is_led_round_the_hip_clears_the_stairs():
    """Of one who runs up four steps with each stride, the heel kicks up to the hip as this sinks behind the stairs."""
    ground = grounds.stairs()
    s = swung(walks.run(6, length=1.2, lift=0.5), ground)
    assert ground.gap(s.after)[~s.stands].min() > -1 * MM
