"""The sole, found from what the clip shows."""

import numpy as np
import pytest
from core import walks
from core.figures import sole_of
from core.walks import LEFT, RIGHT, clip_of, truth

from foot_ik_addon.core.clip import BALL, HEEL, LEG, Leg

MM = 1e-3 * LEG


def flat_frames(walk: walks.Walk, side: int = LEFT) -> np.ndarray:
    return np.logical_and(*truth(walk, side))


@pytest.mark.parametrize(
    "walk",
    [walks.stride(), walks.stride(toes=False), walks.run(), walks.start_stop(), walks.turning()],
    ids=["walk", "no toes", "run", "start and stop", "turn"],
)
@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_sole_lies_on_the_floor_while_the_foot_is_flat(walk, side):
    clip = clip_of(walk)
    tracks = sole_of(clip, side).tracks(clip.legs[side])[flat_frames(walk, side)]
    # The frames chosen for the sole may tilt by a hundredth of a radian, over a foot of 25 cm.
    assert np.abs(tracks[..., 2]).max() < 2.5 * MM


def test_a_swing_that_dips_below_the_floor_is_not_taken_for_the_floor():
    """Slow frames tell where a foot stands, not the lowest ones alone."""
    walk = walks.stride(lift=-0.12, roll=20.0, strike=0.0)
    clip = clip_of(walk)
    tracks = sole_of(clip).tracks(clip.legs[LEFT])
    assert tracks[..., 2].min() < -20 * MM
    assert np.abs(tracks[flat_frames(walk)][..., 2]).max() < 2.5 * MM


def test_heel_ball_and_tip_are_in_their_places():
    walk = walks.stride()
    clip = clip_of(walk)
    sole = sole_of(clip)
    tracks = sole.tracks(clip.legs[LEFT])[flat_frames(walk)][0]
    ball = clip.legs[LEFT].toe[flat_frames(walk)][0, :3, 3]
    np.testing.assert_allclose(tracks[BALL, :2], ball[:2], atol=2 * MM)
    np.testing.assert_allclose(tracks[HEEL, :2] - ball[:2], (0, 1.35 * walks.ANKLE[0] * LEG), atol=3 * MM)
    assert tracks[:, 1].max() - ball[1] == pytest.approx(-0.5 * walks.ANKLE[0] * LEG, abs=3 * MM)
    assert np.ptp(tracks[:, 0]) == pytest.approx(0.07 * LEG, abs=2 * MM)


def test_points_beyond_the_ball_bend_with_the_toes():
    walk = walks.stride()
    clip = clip_of(walk)
    sole = sole_of(clip)
    heights = sole.tracks(clip.legs[LEFT])[..., 2]
    late = truth(walk, LEFT)[1] & ~truth(walk, LEFT)[0]
    late = np.flatnonzero(late)[-1]
    assert heights[late, HEEL] > 50 * MM, "the heel is up"
    ahead = sole.plan[:, 0] > 1e-6
    assert sole.on_toe[ahead].all()
    assert np.abs(heights[late, ahead]).max() < 3 * MM, "the toes still lie on the floor"


def test_plan_on_paper_is_the_sole_on_the_floor():
    """Distances between points of the plan are those of the planted sole: the planner lays the one for the other."""
    walk = walks.stride()
    clip = clip_of(walk)
    for side in (LEFT, RIGHT):
        sole = sole_of(clip, side)
        real = sole.tracks(clip.legs[side])[flat_frames(walk, side)][2][:, :2]
        far = lambda p: np.linalg.norm(p[:, None] - p[None], axis=-1)
        np.testing.assert_allclose(far(sole.plan), far(real), atol=2 * MM)
        np.testing.assert_allclose(sole.plan[BALL], 0, atol=1e-12)


@pytest.mark.parametrize(
    "walk",
    [
        walks.stride(),
        walks.stride(fps=120),
        walks.start_stop(),
        walks.run(fps=60),
        walks.run(),
        walks.stride(skate=0.2),
        walks.stride(skate=0.8),
    ],
    ids=["walk", "walk 120", "start and stop", "run 60", "run 30", "skating 0.2", "skating 0.8"],
)
def test_where_the_toes_stay_flat_while_the_heel_rises_the_ball_belongs_to_the_toe(walk):
    """However the walk is sampled, and whether it skates or not."""
    clip = clip_of(walk)
    assert sole_of(clip, LEFT).on_toe[BALL] and sole_of(clip, RIGHT).on_toe[BALL]


def test_where_the_foot_is_rigid_the_ball_belongs_to_the_foot():
    assert not sole_of(clip_of(walks.sideways())).on_toe[BALL]
    assert not sole_of(clip_of(walks.stride(toes=False))).on_toe.any()


def test_rest_pose_does_not_matter():
    """The sole comes from the animation alone: turned bone axes, as rests have them, give the same points in space."""
    clip = clip_of(walks.stride())
    leg = clip.legs[LEFT]
    spin = np.eye(4)
    spin[:3, :3] = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    spin[:3, :3] *= np.linalg.det(spin[:3, :3])
    other = walks.Clip(clip.fps, clip.pelvis, (Leg(leg.joints, leg.foot @ spin, leg.toe @ spin), clip.legs[RIGHT]))
    np.testing.assert_allclose(sole_of(other).tracks(other.legs[LEFT]), sole_of(clip).tracks(leg), atol=1e-9)


def test_a_clip_that_begins_with_a_pose_in_the_air_is_not_fooled():
    """CMU files begin with a frame of a T-pose, whose feet hang."""
    clip = clip_of(walks.stride())
    leg = clip.legs[LEFT]
    joints, foot, toe = leg.joints.copy(), leg.foot.copy(), leg.toe.copy()
    hang = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # toes down
    joints[0, :, 2] += 0.1
    for m in (foot, toe):
        m[0, :3, :3] = hang @ m[0, :3, :3]
    toe[0, :3, 3] = foot[0, :3, 3] + (0, 0, -0.15)
    posed = walks.Clip(clip.fps, clip.pelvis, (Leg(joints, foot, toe), clip.legs[RIGHT]))
    frames = flat_frames(walks.stride())
    np.testing.assert_allclose(
        sole_of(posed).tracks(posed.legs[LEFT])[frames][2:], sole_of(clip).tracks(leg)[frames][2:], atol=2 * MM
    )


def test_a_foot_that_points_straight_down_still_has_a_sole():
    """No toes, and a foot bone along z: where the character faces tells the way."""
    clip = clip_of(walks.standing(toes=False))
    sole = sole_of(clip)
    assert np.isfinite(sole.points).all() and np.isfinite(sole.plan).all()
    tracks = sole.tracks(clip.legs[LEFT])[0]
    way = tracks[BALL] - tracks[HEEL]
    assert way[1] > 0.9 * np.linalg.norm(way), "toes ahead, along y"


@pytest.mark.parametrize("count", [1, 2])
def test_one_frame_is_enough(count):
    clip = walks.part(clip_of(walks.standing()), 0, count)
    tracks = sole_of(clip).tracks(clip.legs[LEFT])
    assert np.abs(tracks[..., 2]).max() < 1e-9
