"""Contacts are edited one by one: added, split, merged, moved, deleted, their heels and balls timed; what was edited
outlasts a new plan, a file and another frame range, and everything can be undone.
"""
import bpy
import pytest
from blender import scenes
from blender.test_loops import on_the_spot

ops = bpy.ops.foot_ik


def plan():
    assert ops.plan() == {"FINISHED"}


def rows(*names):
    """(leg, start, end) and more of each contact, in the order of time."""
    return sorted(tuple(getattr(c, n) for n in ("leg", "start", "end", *names)) for c in contacts())


def contacts():
    return scenes.rig().foot_ik.contacts


def touches(c):
    return c.heel_start, c.heel_end, c.ball_start, c.ball_end


def select(start, leg=""):
    """Select the contact that starts at a frame."""
    settings = scenes.rig().foot_ik
    settings.active_contact = next(i for i, c in enumerate(settings.contacts) if c.start == start and leg in c.leg)
    return settings.contacts[settings.active_contact]


@pytest.fixture
def ob():
    """The walker on the slope, planned: among its contacts are Left 1 to 18 and Right 17 to 33."""
    ob = scenes.walker("slope")
    assert ("Left", 1, 18) in rows() and ("Right", 17, 33) in rows()
    return ob


@pytest.fixture
def stood(addon, ob):
    """Frames in which the plan has a leg stand: with the whole foot or a part, with its heel, with its ball."""
    prints = addon("blender.prints")

    def frames(leg):
        saved = prints.unpack_prints(scenes.rig().foot_ik.footprints)
        mine = saved.leg == ("Left", "Right").index(leg)
        lit = [prints.lit_at(saved, f)[mine].any(0) for f in range(1, scenes.LAST + 1)]
        return tuple([f for f, row in enumerate(lit, 1) if row[k]] for k in range(3))
    return frames


@pytest.fixture
def state(addon):
    module = addon("blender.planning")
    return lambda: module.plan_state(bpy.context.scene, scenes.rig())


def span(start, end):
    return list(range(start, end + 1))


def test_a_plan_lists_when_heels_and_balls_touch(ob, stood):
    """In a walk the heel comes first and the ball goes last."""
    c = select(17)
    assert c.start == c.heel_start < c.ball_start <= c.heel_end < c.ball_end == c.end
    assert stood("Right")[1] == span(c.heel_start, c.heel_end)
    assert not (c.edited or c.heel_edited or c.ball_edited)


def test_heel_and_ball_touch_when_the_user_says_so(ob, stood, state):
    c = select(17)
    ball = c.ball_start
    c.heel_end = 22
    assert c.edited and c.heel_edited and not c.ball_edited and state() == "STALE"
    for _ in range(2):
        plan()
        assert state() == "CURRENT"
        assert stood("Right")[1] == span(17, 22) and touches(select(17)) == (17, 22, ball, 33)
    select(17).ball_end = 0  # before its start: it never touches
    assert state() == "STALE"
    plan()
    assert select(17).ball_end == 0
    assert [f for f in stood("Right")[2] if 17 <= f <= 33] == span(23, 33), "but a foot stands on something"


def test_the_pose_follows_what_is_said_of_heel_and_ball():
    """Of a foot that slips, its slip is taken out at the point that touches."""
    ob = scenes.walker("skate")
    ob.foot_ik.enabled = True
    before = scenes.shown_over(ob, span(17, 33))
    select(17).heel_end = 22
    plan()
    assert scenes.gaps(scenes.shown_over(ob, span(17, 33)), before).max() > 1e-3


def test_start_and_end_alone_leave_heel_and_ball_as_found(ob, stood):
    heel = stood("Right")[1]
    c = select(17)
    c.start, c.end = 19, 30
    plan()
    all_, heels, balls = stood("Right")
    assert [f for f in all_ if f >= 17] == span(19, 30)
    assert heels == [f for f in heel if f >= 19]
    assert balls[-1] == 30 and touches(select(19))[0] == 19 and not select(19).heel_edited


def test_a_contact_is_split_into_two_footprints(ob, stood):
    count = len(contacts())
    select(17)
    scenes.visit(25)
    assert ops.contact_split() == {"FINISHED"}
    assert rows("edited").count(("Right", 17, 23, True)) == rows("edited").count(("Right", 27, 33, True)) == 1
    for _ in range(2):
        plan()
        assert len(contacts()) == count + 1
        assert [f for f in stood("Right")[0] if f >= 17] == span(17, 23) + span(27, 33)


def test_the_parts_of_a_split_contact_go_and_come_back(ob):
    before = rows()
    select(17)
    scenes.visit(25)
    ops.contact_split(gap=1)
    select(26)
    ops.contact_remove()
    assert ("Right", 17, 24) in rows() and len(rows()) == len(before), "a part goes"
    plan()
    assert ("Right", 17, 24) in rows() and len(rows()) == len(before), "for good"
    select(17)
    scenes.visit(20)
    ops.contact_split(gap=0)
    assert ("Right", 17, 19) in rows() and ("Right", 20, 24) in rows()
    select(20)
    ops.contact_reset()
    assert rows() == before and not any(c.edited for c in contacts())
    assert touches(select(17)) == tuple(select(17).found_touch)
    plan()
    assert rows() == before


def test_contacts_are_merged_and_parted_again(ob, stood):
    before = rows()
    select(1, "Left")
    assert ops.contact_merge() == {"FINISHED"}
    plan()
    assert stood("Left")[0] == span(1, 46)
    with pytest.raises(RuntimeError, match="Left has no contact after this one"):
        ops.contact_merge()
    for i, c in enumerate(contacts()):
        scenes.rig().foot_ik.active_contact = i
        if c.edited:
            ops.contact_reset()
    plan()
    assert rows() == before


def test_a_contact_is_moved_with_heel_and_ball(ob, stood):
    c = select(17)
    was = touches(c)
    assert ops.contact_move(frames=4) == {"FINISHED"}
    plan()
    assert touches(select(21)) == tuple(f + 4 for f in was)
    assert [f for f in stood("Right")[0] if f > 4] == span(21, 37)
    assert stood("Right")[1] == span(was[0] + 4, was[1] + 4)


def test_edges_are_set_to_the_current_frame(ob):
    c = select(17)
    for edge, frame in (("start", 18), ("end", 31), ("heel_start", 19), ("heel_end", 25), ("ball_start", 21),
                        ("ball_end", 30)):
        scenes.visit(frame)
        assert ops.contact_here(edge=edge) == {"FINISHED"}
        assert getattr(c, edge) == frame and c.edited
    scenes.visit(40)
    with pytest.raises(RuntimeError, match="would end before it starts"):
        ops.contact_here(edge="start")
    assert c.start == 18


def test_a_contact_is_added_where_the_foot_is_in_the_air(ob, stood):
    scenes.visit(22)
    with pytest.raises(RuntimeError, match="There is no leg called Tail"):
        ops.contact_add(leg="Tail")
    with pytest.raises(RuntimeError, match="Right is in contact at frame 22 already"):
        ops.contact_add(leg="Right")
    scenes.visit(26)
    assert ops.contact_add(leg="Left") == {"FINISHED"}
    assert ("Left", 26, 31) in rows(), "until the next contact"
    plan()
    assert stood("Left")[0] == span(1, 18) + span(26, 46)
    select(26)
    ops.contact_remove()
    plan()
    assert stood("Left")[0] == span(1, 18) + span(32, 46) and not any(c.start == 26 for c in contacts())


def test_split_is_refused_outside_of_the_contact(ob):
    before = scenes.settings_state(ob.foot_ik)
    select(17)
    before["active_contact"] = ob.foot_ik.active_contact
    for frame in (1, 17, 18, 33, 40):
        scenes.visit(frame)
        with pytest.raises(RuntimeError, match="go to a frame in its middle"):
            ops.contact_split()
    assert scenes.settings_state(ob.foot_ik) == before


@pytest.mark.parametrize("mode, stands, locked", [("NONE", False, None), ("SLIDE", True, False), ("LOCK", True, True)])
def test_mode_rules(addon, ob, stood, mode, stands, locked):
    select(17).mode = mode
    plan()
    assert ([f for f in stood("Right")[0] if f >= 17] == span(17, 33)) == stands
    saved = addon("blender.prints").unpack_prints(scenes.rig().foot_ik.footprints)
    mine = (saved.leg == 1) & (saved.frames[:, 0] >= 17)
    assert not mine.any() if locked is None else (saved.locked[mine] == locked).all()


def edit_all():
    """One edit of every kind; returns what is then listed of the edited contacts."""
    select(17).heel_end = 22
    scenes.visit(25)
    ops.contact_split()
    select(32).mode = "SLIDE"
    scenes.visit(22)
    ops.contact_add(leg="Left")
    return kept()


def kept():
    return [r for r in rows("mode", "edited", "heel_start", "heel_end", "heel_edited", "found_start", "found_end")
            if r[4]]


def test_edits_outlast_plans(ob):
    plan()
    edits = [row[:5] for row in edit_all()]
    for _ in range(3):
        plan()
        assert [row[:5] for row in kept()] == edits


def test_the_selected_contact_stays_selected(ob):
    scenes.visit(22)
    ops.contact_add(leg="Left")
    plan()
    assert ob.foot_ik.contacts[ob.foot_ik.active_contact].start == 22
    select(32).start = 10  # now it comes before others
    plan()
    assert ob.foot_ik.contacts[ob.foot_ik.active_contact].start == 10


def test_edits_outlast_a_file(ob, tmp_path, state):
    edit_all()
    plan()
    before, prints = kept(), ob.foot_ik.footprints
    scenes.save(tmp_path / "saved.blend")
    scenes.load(tmp_path / "saved.blend")
    assert kept() == before and scenes.rig().foot_ik.footprints == prints and state() == "CURRENT"
    plan()
    assert kept() == before and scenes.rig().foot_ik.footprints == prints


def test_edits_outlast_another_frame_range(ob):
    edit_all()
    plan()
    before, scene = rows("mode", "edited"), bpy.context.scene
    for first, last in ((20, 46), (1, 24), (30, 40)):
        scene.frame_start, scene.frame_end = first, last
        plan()
        assert [r for r in rows("mode", "edited") if r[4]] == [r for r in before if r[4]]
    scene.frame_start, scene.frame_end = 1, scenes.LAST
    plan()
    assert rows("mode", "edited") == before


def split():
    select(17)
    scenes.visit(25)
    ops.contact_split()


def remove():
    select(17)
    ops.contact_remove()


def move():
    select(17)
    ops.contact_move()


def merge():
    select(1, "Left")
    ops.contact_merge()


def here():
    select(17)
    scenes.visit(20)
    ops.contact_here(edge="start")


def add():
    scenes.visit(22)
    ops.contact_add(leg="Left")


@pytest.mark.parametrize("edit", (split, remove, move, merge, here, add), ids=lambda f: f.__name__)
def test_edits_are_undone(ob, state, edit):
    bpy.ops.ed.undo_push(message="before")
    before = scenes.settings_state(scenes.rig().foot_ik)["contacts"]
    assert state() == "CURRENT"
    edit()
    bpy.ops.ed.undo_push(message="after")
    assert scenes.settings_state(scenes.rig().foot_ik)["contacts"] != before and state() == "STALE"
    bpy.ops.ed.undo()
    assert scenes.settings_state(scenes.rig().foot_ik)["contacts"] == before and state() == "CURRENT"


def test_edited_contacts_bake_as_they_show(ob):
    edit_all()
    plan()
    ob.foot_ik.enabled = True
    live = scenes.shown_over(ob, span(1, scenes.LAST))
    assert ops.bake() == {"FINISHED"}
    assert scenes.gaps(scenes.shown_over(ob, span(1, scenes.LAST)), live).max() < 1e-5


def test_contacts_go_along_with_the_name_of_their_leg(ob, state):
    """And each leg has a name of its own, also where two were given the same, or none, for a while."""
    select(17).mode = "SLIDE"
    plan()
    before, legs = rows("mode", "edited"), ob.foot_ik.legs
    legs[1].name = "Hopp"
    renamed = sorted((leg.replace("Right", "Hopp"), *row) for leg, *row in before)
    assert rows("mode", "edited") == renamed and state() == "CURRENT"
    plan()
    assert rows("mode", "edited") == renamed
    for name in ("Left", "", "Left"):
        legs[1].name = name
    plan()
    assert [leg.name for leg in legs] == ["Left", "Left 2"]
    legs[1].name = "Right"
    assert rows("mode", "edited") == before


def test_what_the_user_has_said_of_contacts_is_not_told_otherwise(addon):
    """All of them removed is no wrong floor; feet that are locked on the spot are not told to be free."""
    def notes(ob):
        return addon("blender.apply").saved_plan(ob, addon("blender.rig").read_rig(ob)).notes

    ob = scenes.walker("flat", prepare=on_the_spot)
    assert any("on the spot" in note for note in notes(ob))
    for mode in ("LOCK", "NONE"):
        for c in contacts():
            c.mode = mode
        plan()
        assert not any("on the spot" in note for note in notes(ob)) or mode == "NONE"
    ob = scenes.walker("slope")
    for c in contacts():
        c.mode = "NONE"
    plan()
    assert not notes(ob)
