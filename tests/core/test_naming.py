"""What a bone's name proposes, and what it forbids."""
import pytest

from foot_ik_addon.core import naming
from foot_ik_addon.core.naming import FOOT, LOWER, TOE, UPPER, parse


@pytest.mark.parametrize("name, side", [
    ("mixamorig:LeftUpLeg", "L"), ("mixamorig1:RightFoot", "R"), ("thigh.L", "L"), ("thigh_r", "R"), ("thigh.l", "L"),
    ("DEF-thigh.L.001", "L"), ("lThighBend", "L"), ("rShin", "R"), ("LThigh", "L"), ("LLegBack1", "L"), ("RLeg1", "R"),
    ("l_thigh", "L"), ("CC_Base_R_Calf", "R"), ("J_Bip_L_Foot", "L"), ("Bip001 R Foot", "R"), ("Bip01LToe0Nub", "L"),
    ("左足", "L"), ("右足ＩＫ", "R"), ("足先EX左", "L"), ("Ｌｅｇ＿Ｌ", "L"), ("lfemur", "L"), ("rightupleg", "R"),
    ("LowerLeg_L", "L"),
    ("f_toe.R", "R"), ("r_toe.L", "L"), ("char|ns:LeftFoot", "L"),
    ("spine.001", ""), ("LowerTorso", ""), ("root", ""), ("J_Bip_C_Hips", ""), ("lowerback", ""), ("ribs", ""),
])
def test_side(name, side):
    assert parse(name).side == side


@pytest.mark.parametrize("name, roles", [
    ("LeftUpLeg", {UPPER}), ("ValveBiped.Bip01_L_Thigh", {UPPER}), ("SKEL_L_Thigh", {UPPER}),
    ("thigh_stretch.l", {UPPER}), ("left_hip", {UPPER}), ("upperleg02.L", {UPPER}), ("l_femur", {UPPER}),
    ("LeftLeg", {UPPER, LOWER}), ("Left leg", {UPPER, LOWER}), ("左足", {UPPER, LOWER}),
    ("左ひざ", {LOWER}), ("calf_l", {LOWER}), ("LeftLowLeg", {LOWER}), ("leg_stretch.l", {UPPER, LOWER}),
    ("left_foot", {FOOT, TOE}), ("左足首", {FOOT}), ("Ankle_L", {FOOT}), ("hind_foot.L", {FOOT, TOE}),
    ("LeftToeBase", {TOE}), ("ball_l", {TOE}), ("左足先EX", {TOE}), ("Bip001 L Toe0", {TOE}), ("LBigToe", {TOE}),
    ("Hips", set()), ("hip", set()), ("pelvis.L", set()), ("Spine", set()), ("J_Sec_L_SkirtFront_01", set()),
    ("LeftFootstepSound", set()), ("Bone.001", set()), ("", set()), ("...", set()),
])
def test_roles(name, roles):
    assert set(parse(name).roles) == roles


@pytest.mark.parametrize("name", [
    "thigh_twist_01_l", "RB_L_ThighRoll", "LeftLegRoll", "CC_Base_L_KneeShareBone", "LeftToeNub", "LeftToeBase_end",
    "Toe_End", "IK-foot.l", "foot_ik.L", "ik_foot_l", "左足ＩＫ", "kneeIK.l", "c_leg_pole.l",
    "thigh_ik_target.L", "MCH-shin_ik.L",
    "thigh_parent.L", "foot_tweak.L", "control-toe-roll.l", "腰キャンセル左", "heel.02.L", "左腕捩",
])
def test_helpers_are_never_picked(name):
    assert parse(name).helper


def test_layers_put_the_deforming_bone_first():
    order = ["DEF-thigh.L", "thigh.L", "左足D", "ORG-thigh.L", "thigh.fk.L", "c_thigh.l"]
    layers = [parse(n).layer for n in order]
    assert layers == sorted(layers)
    assert len(set(layers)) == len(layers)
    assert parse("c_thigh_fk.l").layer == parse("thigh_ctrl.L").layer == naming.CONTROL


@pytest.mark.parametrize("name", ["mixamorig:Hips", "CC_Base_Hip", "root.x", "腰", "Bip001 Pelvis", "LowerTorso"])
def test_pelvis_names(name):
    assert parse(name).pelvis
    assert not parse(name).trunk


@pytest.mark.parametrize("name", ["spine.004", "spine_01.x", "上半身", "mixamorig:Spine1", "J_Bip_C_Neck"])
def test_trunk_names(name):
    assert parse(name).trunk
    assert not parse(name).pelvis


@pytest.mark.parametrize("name", ["root", "joint_Root", "CC_Base_BoneRoot", "全ての親", "pelvis.L", "Bip001"])
def test_neither_pelvis_nor_trunk(name):
    assert not parse(name).pelvis
    assert not parse(name).trunk


@pytest.mark.parametrize("name, limb", [
    ("front_thigh.L", naming.FRONT), ("f_hoof.L", naming.FRONT), ("forefoot.L", naming.FRONT),
    ("hind_foot.L", naming.HIND), ("r_toe.L", naming.HIND), ("LLegBack2", naming.HIND),
    ("leg_mid_upper.L", naming.MIDDLE), ("thigh.L", ""),
    ("r_toe", ""),
])
def test_limb_of_an_animal(name, limb):
    assert parse(name).limb == limb
