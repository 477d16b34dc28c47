"""Legs are found on every naming system, whatever the rest pose, the bone order or the scale; doubt is refused."""
from dataclasses import replace

import numpy as np
import pytest
from core.skeletons import build, read_cases

from foot_ik_addon.core.legs import LegsNotFound, find_legs
from foot_ik_addon.core.skeleton import Skeleton

CASES = read_cases()
IDS = [c.name for c in CASES]
BY_NAME = {c.name: c for c in CASES}


def outcome(skeleton):
    found = find_legs(skeleton)
    return found.pelvis, found.legs


def refusal(skeleton) -> str:
    """The sentence of the refusal, which must tell the animator what to do."""
    with pytest.raises(LegsNotFound) as error:
        find_legs(skeleton)
    sentence = str(error.value)
    assert "by hand in the Legs panel" in sentence
    assert "\n" not in sentence
    return sentence


def rebuilt(skeleton: Skeleton, order) -> Skeleton:
    """The same bones in another order."""
    place = np.argsort(order)
    parents = skeleton.parents[order]
    return Skeleton(tuple(skeleton.names[b] for b in order), np.where(parents < 0, -1, place[parents]),
                    skeleton.heads[order], skeleton.tails[order], skeleton.use_deform[order],
                    skeleton.use_connect[order], skeleton.posed[:, order])


def renamed(skeleton: Skeleton):
    """The same bones with names that say nothing, and the way from an old name to the new one."""
    names = tuple(f"Bone.{i:03d}" for i in range(len(skeleton.names)))
    return replace(skeleton, names=names), dict(zip(skeleton.names, names)) | {"": ""}


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_naming_system(case):
    found = find_legs(case.skeleton)
    assert (found.pelvis, found.legs, found.notes) == (case.pelvis, case.legs, ())


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_without_posed_evidence(case):
    assert outcome(replace(case.skeleton, posed=None)) == (case.pelvis, case.legs)


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bone_order_does_not_matter(case, seed):
    order = np.random.default_rng(seed).permutation(len(case.skeleton.names))
    assert outcome(rebuilt(case.skeleton, order)) == (case.pelvis, case.legs)


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize("scale", [0.01, 16.0])
def test_scale_does_not_matter(case, scale):
    s = case.skeleton
    assert outcome(replace(s, heads=s.heads * scale, tails=s.tails * scale)) == (case.pelvis, case.legs)
    assert outcome(replace(s, posed=s.posed * scale)) == (case.pelvis, case.legs)


def pose(skeleton: Skeleton, offset) -> np.ndarray:
    """Heads (B, 3) with each bone's offset from its parent replaced by `offset(bone name, offset)`, lengths kept."""
    out = skeleton.heads.copy()
    for b in np.argsort(skeleton.depth):
        parent = skeleton.parents[b]
        if parent >= 0:
            out[b] = out[parent] + offset(skeleton.names[b], skeleton.heads[b] - skeleton.heads[parent])
    return out


def along_x(name, offset):
    """Motion capture rests: each bone along x, to its own side."""
    return np.array([np.linalg.norm(offset) * (-1.0 if "Right" in name or name.endswith("_R") else 1.0), 0.0, 0.0])


def mid_stride(name, offset):
    """One leg swung forward, one back, by 40 degrees."""
    a = np.radians(40.0 if "Left" in name or name.endswith("_L") else -40.0)
    leg = any(w in name for w in ("Leg", "Foot", "Toe", "Knee", "Ankle"))
    y, z = (np.cos(a) * offset[1] - np.sin(a) * offset[2], np.sin(a) * offset[1] + np.cos(a) * offset[2])
    return np.array([offset[0], y, z]) if leg else offset


@pytest.mark.parametrize("rest", [along_x, mid_stride])
@pytest.mark.parametrize("name", ["Mixamo", "Bandai-Namco", "CMU BVH cgspeed", "CMU (hip-knee form)", "LaFAN1",
                                  "mocapbank BVH"])
def test_rest_poses_lie(name, rest):
    case = BY_NAME[name]
    posed = replace(case.skeleton, heads=pose(case.skeleton, rest))
    assert outcome(posed) == (case.pelvis, case.legs)
    assert outcome(replace(posed, posed=posed.heads[None])) == (case.pelvis, case.legs)


def insect(pairs):
    feet = "".join(f"""
      femur_{i}_[L|R] @upper
        tibia_{i}_[L|R] @lower
          tarsus_{i}_[L|R] @foot""" for i in range(1, pairs + 1))
    skeleton = build(f"root @floor\n  pelvis @hips\n    abdomen\n      head\n    thorax{feet}")
    shift = np.array([0.4 * n.digits[0] if n.side else 0.0 for n in skeleton.words])
    heads = skeleton.heads + shift[:, None] * [0.0, 1.0, 0.0]
    return replace(skeleton, heads=heads, posed=heads[None])


@pytest.mark.parametrize("pairs", [2, 3, 4])
def test_more_than_two_legs(pairs):
    found = find_legs(insect(pairs))
    assert [leg.name for leg in found.legs] == [f"{s} {i}" for i in range(1, pairs + 1) for s in ("Left", "Right")]
    assert found.legs[0].upper == "femur_1_L"
    assert found.legs[-1].foot == f"tarsus_{pairs}_R"
    assert (found.pelvis, found.legs[0].toe) == ("pelvis", "")


def test_words_tell_three_pairs_apart():
    tree = "pelvis @hips\n  spine\n    head" + "".join(f"""
  {w}_leg_upper.[L|R] @upper
    {w}_leg_lower.[L|R] @lower
      {w}_leg_foot.[L|R] @foot""" for w in ("front", "mid", "back"))
    skeleton = build(tree)
    shift = np.array([[0.0, {"Front": -0.5, "Hind": 0.5}.get(w.limb, 0.0), 0.0] for w in skeleton.words])
    names = [leg.name for leg in find_legs(replace(skeleton, heads=skeleton.heads + shift)).legs]
    assert names == [f"{w} {s}" for w in ("Front", "Middle", "Hind") for s in ("Left", "Right")]


def test_one_legged():
    found = find_legs(build("hips @hips\n  spine\n    head\n  thigh.L @upper\n    shin.L @lower\n      foot.L @foot"))
    assert [(leg.name, leg.foot) for leg in found.legs] == [("Left", "foot.L")]
    assert "add one that is missing" in found.notes[0]


def test_one_leg_in_the_middle():
    found = find_legs(build("""
hips @hips
  spine
    head
  thigh @upper
    shin @lower
      foot @foot
        toe @toe"""))
    assert [(leg.name, leg.upper, leg.toe) for leg in found.legs] == [("Leg", "thigh", "toe")]
    assert found.notes == ()


LEG = """
{i}thigh.[L|R] @upper
{i}  shin.[L|R] @lower
{i}    foot.[L|R] @foot"""


def test_connected_pelvis_gives_way_to_its_parent():
    skeleton = build("root @floor\n  hips @hips\n    spine\n      head" + LEG.replace("{i}", "    "))
    connected = np.array([n in ("hips", "shin.L", "shin.R") for n in skeleton.names])
    found = find_legs(replace(skeleton, use_connect=connected))
    assert found.pelvis == "root"
    assert found.notes == ("hips is connected to its parent and cannot be moved, so root moves the body",)


def test_hip_is_a_spacer_where_the_leg_follows():
    found = find_legs(build("""
pelvis @hips
  spine
    head
  hip_[l|r] @hips
    leg_[l|r] @upper
      knee_[l|r] @lower
        ankle_[l|r] @foot
          ball_[l|r] @toe"""))
    assert (found.legs[0].upper, found.legs[0].lower, found.legs[0].foot, found.legs[0].toe) == (
        "leg_l", "knee_l", "ankle_l", "ball_l")


def test_toes_are_ranked_by_name_before_order():
    found = find_legs(build("""
pelvis @hips
  spine
    head
  thigh_[l|r] @upper
    calf_[l|r] @lower
      foot_[l|r] @foot
        a_toe_prop_[l|r] @tip
        bigtoe_[l|r] @toe2
        toes_[l|r] @toe"""))
    assert [leg.toe for leg in found.legs] == ["toes_l", "toes_r"]


def test_controls_beside_the_character_are_no_further_legs():
    fk = LEG.replace("{i}", "  ").replace(".[", "_fk.[")
    skeleton = build("hips @hips\n  spine\n    head" + LEG.replace("{i}", "  ") + fk)
    shift = np.array([[0.0, 0.5 if "_fk" in n else 0.0, 0.0] for n in skeleton.names])
    moved = replace(skeleton, heads=skeleton.heads + shift)
    assert [(leg.name, leg.upper) for leg in find_legs(moved).legs] == [("Left", "thigh.L"), ("Right", "thigh.R")]


def test_arms_that_do_not_hang_down_are_no_legs_whatever_ends_them():
    found = find_legs(build("""
hips @hips
  spine
    head
    upper_arm.[L|R]
      forearm.[L|R]
        hand.[L|R]
          claw_toe.[L|R]""" + LEG.replace("{i}", "  ")))
    assert [leg.name for leg in found.legs] == ["Left", "Right"]


# ---------------------------------------------------------------- refusals

def test_refuses_an_arm_with_a_hand():
    assert "No legs" in refusal(build("""
root @floor
  spine @hips
    shoulder.[L|R]
      upper_arm.[L|R]
        forearm.[L|R]
          hand.[L|R]
            f_index.01.[L|R]"""))


def test_refuses_tails():
    assert "No legs" in refusal(build("root @hips" + "".join(f"""
  tail{i}.001
    tail{i}.002
      tail{i}.003
        tail{i}.004""" for i in range(3))))


@pytest.mark.parametrize("tree", [
    "Bone @floor",
    "root @floor\n  lid\n    handle\n  drawer.[L|R]",
    "chassis @hips\n  wheel_front.[L|R]\n  wheel_back.[L|R]",
    "root @hips\n  foot.[L|R] @foot\n  foot_ik.[L|R] @foot",
    "root @hips\n  thigh_ik.[L|R] @upper\n    shin_ik.[L|R] @lower\n      foot_ik.[L|R] @foot",
], ids=["one bone", "cupboard", "car", "feet alone", "IK bones alone"])
def test_refuses_what_has_no_legs(tree):
    assert "No legs" in refusal(build(tree))


def test_refuses_an_armature_without_bones():
    empty = np.zeros((0, 3))
    none = np.zeros(0, bool)
    assert "No legs" in refusal(Skeleton((), np.zeros(0, int), empty, empty, none, none, empty[None]))


def test_refuses_legs_without_length():
    skeleton = build("hips @hips\n  spine\n    head" + LEG.replace("{i}", "  "))
    legs = [i for i, n in enumerate(skeleton.names) if n[:-2] in ("thigh", "shin", "foot")]
    heads = skeleton.heads.copy()
    heads[legs] = skeleton.heads[0]
    assert "lengths" in refusal(replace(skeleton, heads=heads))


def test_refuses_a_pair_of_unequal_legs():
    skeleton = build("hips @hips\n  spine\n    head" + LEG.replace("{i}", "  "))
    heads = skeleton.heads.copy()
    for n, z in (("shin.R", 0.8), ("foot.R", 0.65)):
        heads[skeleton.names.index(n), 2] = z
    assert "differ too much" in refusal(replace(skeleton, heads=heads))


def test_refuses_two_readings_of_one_leg():
    again = LEG.replace(".[", ".001.[")
    skeleton = build("hips @hips\n  spine\n    head" + (LEG + again).replace("{i}", "  "))
    assert "look like the same leg" in refusal(skeleton)


def test_refuses_legs_that_nothing_carries():
    assert "No bone carries" in refusal(build("spine @hips\n  head" + LEG.replace("{i}", "")))


# ---------------------------------------------------------------- names that say nothing

HUMANS = ["Mixamo", "Rigify metarig", "VRM add-on", "Daz G1/G2", "CMU BVH cgspeed", "CMU (hip-knee form)",
          "SMPL / SMPL-X", "Bandai-Namco", "ozz pab", "mocapbank BVH", "Synty", "Roblox R15"]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_meaningless_names_never_give_wrong_legs(case):
    skeleton, new = renamed(case.skeleton)
    expected = [(leg.name, *(new[b] for b in (leg.upper, leg.lower, leg.foot, leg.toe))) for leg in case.legs]
    try:
        found = find_legs(skeleton)
    except LegsNotFound:
        return
    assert [(leg.name, leg.upper, leg.lower, leg.foot, leg.toe) for leg in found.legs] == expected
    assert "by their shape" in found.notes[0]


def test_a_clear_humanoid_is_found_by_its_shape():
    lost = []
    for name in HUMANS:
        case = BY_NAME[name]
        skeleton, new = renamed(case.skeleton)
        try:
            if find_legs(skeleton).pelvis != new[case.pelvis]:
                lost.append(name)
        except LegsNotFound:
            lost.append(name)
    assert lost == []


@pytest.mark.parametrize("change", ["no posed frames", "rest along x"])
def test_shape_needs_a_pose_that_stands(change):
    skeleton, _ = renamed(BY_NAME["Bandai-Namco"].skeleton)
    posed = None if change == "no posed frames" else pose(BY_NAME["Bandai-Namco"].skeleton, along_x)[None]
    refusal(replace(skeleton, posed=posed))


def test_shape_refuses_a_handstand():
    skeleton, _ = renamed(BY_NAME["Mixamo"].skeleton)
    refusal(replace(skeleton, posed=skeleton.posed * [1.0, -1.0, -1.0]))


BODY = "Bone @hips\n  Bone.001\n    Bone.002\n      Bone.003\n        Bone.004"


def limbs(letter, ends=""):
    """A pair of limbs in the place of legs, with names that say nothing."""
    return f"""
  {letter}[1|2] @upper
    {letter}b[1|2] @lower
      {letter}c[1|2] @foot""" + "".join(f"\n        {letter}{e}[1|2] @toe" for e in ends)


def test_shape_takes_one_pair():
    assert find_legs(build(BODY + limbs("x"))).legs[0].foot == "xc1"


@pytest.mark.parametrize("pairs", [limbs("x", "defg"), limbs("x") + limbs("y")], ids=["fingers", "two pairs alike"])
def test_shape_refuses(pairs):
    refusal(build(BODY + pairs))


def test_shape_refuses_two_of_four_limbs():
    skeleton = build(BODY + limbs("x") + limbs("y"))
    raised = skeleton.heads.copy()
    raised[[n.startswith("y") for n in skeleton.names], 2] += 0.5
    refusal(replace(skeleton, posed=raised[None]))


def test_shape_refuses_limbs_that_lie():
    skeleton = build(BODY + limbs("x"))
    lying = pose(skeleton, lambda name, offset: offset[[0, 2, 1]] if name[:2] in ("xb", "xc") else offset)
    lying[[n.startswith("x") for n in skeleton.names], 2] -= 0.3
    refusal(replace(skeleton, posed=lying[None]))


def test_shape_refuses_limbs_whose_names_say_arm():
    """A biped whose legs were removed: its arms, hanging, are the pair that ends lowest."""
    arms = """
  upper_arm[1|2] @upper
    forearm[1|2] @lower
      hand[1|2] @foot"""
    refusal(build(BODY + arms))
