"""The lean of the body into the slope: by its angle, smooth, and nothing to the feet."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from core import grounds, walks
from core.figures import apply, options, rows_of
from core.walks import clip_of

from foot_ik_addon.core.clip import LEG, Clip
from foot_ik_addon.core.plan import Plan, make_plan
from foot_ik_addon.core.pose import LegJob
from foot_ik_addon.core.rotations import from_rotvec, rotate, to_rotvec


def walk(steps: int) -> Clip:
    """Along +y, 1.2 m/s, the pelvis above and behind the hips as in real rigs."""
    clip = clip_of(walks.stride(steps))
    return replace(clip, pelvis=clip.pelvis + (0.0, -0.02, 0.1))


WALK = walk(5)
MM = 1e-3 * LEG
UP = np.array([0.0, 0.0, 1.0])


def lean_over(ground, clip=WALK) -> np.ndarray:
    """(F, 2): degrees by which the top of the body goes ahead (+y) and to the right (+x) at lean 1."""
    top = rotate(from_rotvec(make_plan(clip, ground, options()).lean), UP)
    return np.degrees(np.arctan2(top[:, [1, 0]], top[:, 2:]))


@cache
def plan_over(ground: str) -> Plan:
    """The walk over one of GROUNDS, planned once."""
    return make_plan(WALK, GROUNDS[ground], options())


def leaned(ground: str, lean: float = 1.0, job: LegJob | None = None, to_rig=None):
    """The walk over one of GROUNDS, corrected upright, and with the body leaning."""
    plan = plan_over(ground)
    rows = rows_of(plan, 1.0)
    turned = replace(rows, lean=lean * plan.lean, pelvis=rows.pelvis + lean * plan.sink[1])
    return tuple(apply(WALK, plan, rows=r, job=job, to_rig=to_rig) for r in (rows, turned))


@pytest.mark.parametrize("way", [np.pi / 2, 0.7])
@pytest.mark.parametrize("along, across", [(15, 0), (-15, 0), (0, 12), (0, -12), (8, 5)])
def test_the_body_leans_by_the_angle_of_the_slope_to_where_it_rises(along, across, way):
    """Forward uphill, backward downhill, sideways on a cross slope, wherever the walk goes. To a hundredth, since feet
    are tilted by what their soles find."""
    lean = make_plan(clip_of(walks.stride(4, way=way)), grounds.slope(along, across, way=way), options()).lean
    a, b = np.tan(np.radians([along, across]))
    gradient = np.array([a * np.cos(way) - b * np.sin(way), a * np.sin(way) + b * np.cos(way)])
    steep = np.linalg.norm(gradient)
    want = np.array([-gradient[1], gradient[0], 0]) * np.arctan(steep) / steep
    assert np.linalg.norm(lean - want, axis=1).max() < 0.01 * np.arctan(steep)


@pytest.mark.parametrize("height", [0.0, 0.37])
def test_level_ground_gives_no_lean_at_all(height):
    plan = make_plan(WALK, grounds.flat(height), options())
    assert not plan.lean.any() and not plan.sink.any()


def test_stairs_give_less_than_their_mean_slope_and_nothing_sideways():
    """However the stride falls on the treads."""
    for rise, tread in ((0.16, 0.30), (0.18, 0.26), (0.16, 0.42)):
        ahead, right = lean_over(grounds.stairs(rise, tread)).T
        mean = np.degrees(np.arctan(rise / tread))
        assert 0.3 * mean < ahead.min() and ahead.max() < mean
        assert np.abs(right).max() < 3


def test_rubble_sways_the_body_less_than_its_feet():
    """By half of the steepest footprint at most."""
    plan = make_plan(WALK, grounds.rubble(), options())
    steepest = max(np.arccos(p.tilt[2, 2]) for foot in plan.prints for p in foot)
    assert np.linalg.norm(plan.lean, axis=1).max() < 0.5 * steepest


@pytest.mark.parametrize("moving", [grounds.rocking(30.0), grounds.lift(0.3, 30.0)], ids=["rocking", "lift"])
def test_the_body_stays_upright_on_ground_that_tilts_or_rises(moving):
    assert not lean_over(moving).any()


def test_the_lean_onto_a_slope_is_one_smooth_swing():
    """From level ground onto 15 degrees: it never turns back, nor goes too far, and its top, 0.6 m above the pelvis,
    is accelerated by less than 0.5 m/s2, where a walk's own pelvis does 1.5."""
    rise = np.tan(np.radians(15))
    ahead = lean_over(grounds.still(lambda x, y: rise * np.maximum(y - 2.4, 0)), walk(8))[:, 0]
    assert abs(ahead[0]) < 0.5 and 14 < ahead[-1] <= 15
    assert np.diff(ahead).min() > -0.01
    assert 0.6 * np.abs(np.diff(np.radians(ahead), 2)).max() * 30**2 < 0.5


@pytest.mark.parametrize("phase", [0.0, 0.23])
def test_the_lean_of_a_loop_has_no_seam(phase):
    longer = clip_of(walks.stride(4))
    start = round(30 * phase)
    plan = make_plan(walks.part(longer, start, start + 31), grounds.slope(12, 6), options())
    assert np.abs(plan.lean[-1] - plan.lean[0]).max() < 1e-6
    assert np.abs(plan.sink[:, -1] - plan.sink[:, 0]).max() < 0.2 * MM


GROUNDS = {
    "up": grounds.slope(15),
    "down": grounds.slope(-15),
    "across": grounds.slope(0, 12),
    "stairs": grounds.stairs(),
}


@pytest.mark.parametrize("ground", GROUNDS)
def test_feet_stay_exactly_where_the_plan_puts_them(ground):
    """To a tenth of a millimetre, also half-way, and although the hips have moved. On stairs some swings are out of
    reach for an upright body too; not farther for one that leans."""
    for lean in (0.5, 1.0):
        upright, turned = leaned(ground, lean)
        missed = upright.corrected.residual
        assert (turned.corrected.residual < missed + 0.1 * MM).all()
        for i, (a, b) in enumerate(zip(upright.after.legs, turned.after.legs, strict=True)):
            there = missed[:, i] < 0.1 * MM
            assert np.abs(a.foot - b.foot)[there].max() < 0.1 * MM and np.abs(a.toe - b.toe)[there].max() < 0.1 * MM
            assert np.abs(a.joints[:, 0] - b.joints[:, 0]).max() > 2 * MM, "the hips have not moved"


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.3)])
def test_the_body_turns_about_the_head_of_the_pelvis_and_takes_the_hips_along(turn):
    """In the space of an armature of any axes and scale."""
    to_rig = np.eye(4)
    to_rig[:3, :3] = 40 * from_rotvec(np.array(turn))
    upright, turned = leaned("across", to_rig=to_rig)
    back = from_rotvec(np.array(turn)).T
    body = back @ turned.corrected.body @ back.T
    np.testing.assert_allclose(to_rotvec(body), upright.plan.lean, atol=1e-9)
    for leg, new in zip(WALK.legs, turned.after.legs, strict=True):
        arm = rotate(body, leg.joints[:, 0] - WALK.pelvis)
        np.testing.assert_allclose(new.joints[:, 0], turned.after.pelvis + arm, atol=1e-9)


def test_legs_that_do_not_hang_on_the_pelvis_keep_their_hips():
    job = LegJob("TWO_BONE", 0.0, False)
    upright, turned = leaned("across", job=job)
    assert turned.corrected.leans
    for leg, a, b in zip(WALK.legs, upright.after.legs, turned.after.legs, strict=True):
        np.testing.assert_allclose(b.joints[:, 0], leg.joints[:, 0], atol=1e-12)
        np.testing.assert_allclose(b.joints, a.joints, atol=1e-12)


def test_knees_pop_no_more_than_upright():
    """The pelvis of a leaning body goes where its legs reach."""
    for ground in GROUNDS:
        upright, turned = leaned(ground)
        assert jerk(turned.after) < 1.25 * jerk(upright.after)


def jerk(clip) -> float:
    """The 99th percentile of the second difference of the knees' angles."""
    bends = [np.arccos(2 * leg.extension**2 - 1) for leg in clip.legs]  # thigh and shin are alike
    return float(np.percentile(np.abs(np.diff(bends, 2)), 99))


def test_a_plan_without_lean_is_the_plan_as_it_was():
    """Lean 0 is no lean, to the last bit."""
    plan = plan_over("up")
    plain = apply(WALK, plan)
    out = apply(WALK, plan, rows=replace(rows_of(plan, 1.0), lean=0 * plan.lean))
    assert not out.corrected.leans and (out.corrected.hips == plain.corrected.hips).all()


def test_one_frame_alone_leans_by_the_tilt_under_its_feet():
    lean = lean_over(grounds.slope(15), walks.part(WALK, 20, 21))
    assert lean.shape == (1, 2) and 0 <= lean[0, 0] < 16
