"""What the user says of contacts replaces what was found."""

import numpy as np
import pytest

from foot_ik_addon.core.contacts import Contact, away_from
from foot_ik_addon.core.edits import Edit, edited

COUNT = 100


def plant(start: int, stop: int) -> Contact:
    """Heel first, ball last, as in a walk."""
    n = stop - start
    x = np.arange(n) / n
    return Contact(start, stop, x < 0.7, x >= 0.2, away_from((x < 0.7) & (x >= 0.2)))


FOUND = [plant(10, 30), plant(50, 70)]


def cover(contacts: list[Contact]) -> np.ndarray:
    """(COUNT,): 0 free, 1 sliding, 2 locked; contacts do not overlap."""
    out = np.zeros(COUNT, int)
    for c in contacts:
        assert not out[c.start : c.stop].any(), "two contacts at once"
        assert (c.heel | c.ball).all() and len(c.heel) == c.stop - c.start
        out[c.start : c.stop] = 2 if c.locked else 1
    return out


def test_no_edits_change_nothing():
    got = edited(FOUND, [], COUNT)
    assert [(c.start, c.stop, c.heel.tolist(), c.ball.tolist(), c.locked) for c in got] == [
        (c.start, c.stop, c.heel.tolist(), c.ball.tolist(), c.locked) for c in FOUND
    ]


@pytest.mark.parametrize("mode, value", [("LOCK", 2), ("SLIDE", 1), ("NONE", 0), ("AUTO", 2)])
@pytest.mark.parametrize("start, stop", [(10, 30), (5, 35), (15, 20), (0, 100), (25, 55), (35, 45), (29, 31)])
def test_an_edit_rules_in_its_frames_and_nowhere_else(mode, value, start, stop):
    before, after = cover(edited(FOUND, [], COUNT)), cover(edited(FOUND, [Edit(start, stop, mode)], COUNT))
    assert (after[start:stop] == value).all()
    outside = np.ones(COUNT, bool)
    outside[start:stop] = False
    np.testing.assert_array_equal(after[outside], before[outside])


@pytest.mark.parametrize("mode", ["LOCK", "SLIDE", "AUTO"])
def test_heel_and_ball_are_kept_where_they_were_found(mode):
    (got,) = edited([FOUND[0]], [Edit(5, 25, mode)], COUNT)[:1]
    np.testing.assert_array_equal(got.heel[5:], FOUND[0].heel[:15])
    np.testing.assert_array_equal(got.ball[5:], FOUND[0].ball[:15])
    assert got.heel[:5].all() and got.ball[:5].all(), "where nothing was found the whole foot stands"


def test_a_contact_is_split_moved_and_shortened_by_edits():
    split = edited(FOUND, [Edit(10, 18, "LOCK"), Edit(18, 22, "NONE"), Edit(22, 30, "LOCK")], COUNT)
    assert [(c.start, c.stop) for c in split] == [(10, 18), (22, 30), (50, 70)]
    moved = edited(FOUND, [Edit(10, 14, "NONE"), Edit(14, 34, "LOCK")], COUNT)
    assert [(c.start, c.stop) for c in moved] == [(14, 34), (50, 70)]


def test_contacts_come_in_order_of_time():
    got = edited(FOUND, [Edit(90, 95, "LOCK"), Edit(0, 5, "SLIDE"), Edit(40, 45, "LOCK")], COUNT)
    assert [c.start for c in got] == sorted(c.start for c in got) == [0, 10, 40, 50, 90]


def test_edits_beyond_the_clip_are_cut():
    got = edited(
        FOUND, [Edit(-20, 5, "LOCK"), Edit(95, 300, "LOCK"), Edit(150, 160, "LOCK"), Edit(-9, -3, "LOCK")], COUNT
    )
    assert [(c.start, c.stop) for c in got] == [(0, 5), (10, 30), (50, 70), (95, 100)]


def test_what_was_found_is_not_changed_in_place():
    kept = [(c.start, c.stop, c.heel.copy(), c.ball.copy()) for c in FOUND]
    edits = [Edit(5, 25, "LOCK")]
    edited(FOUND, edits, COUNT)
    for c, (start, stop, heel, ball) in zip(FOUND, kept):
        assert (c.start, c.stop) == (start, stop)
        np.testing.assert_array_equal(c.heel, heel)
        np.testing.assert_array_equal(c.ball, ball)
    assert edits == [Edit(5, 25, "LOCK")]


def test_heel_and_ball_touch_when_the_user_says_so():
    (got,) = edited(FOUND[:1], [Edit(10, 30, "LOCK", heel=(8, 15), ball=(12, 30))], COUNT)
    frames = np.arange(10, 30)
    np.testing.assert_array_equal(got.heel, frames < 15)
    np.testing.assert_array_equal(got.ball, frames >= 12)


def test_the_other_point_stays_as_found():
    (got,) = edited(FOUND[:1], [Edit(10, 30, "LOCK", ball=(20, 30))], COUNT)
    np.testing.assert_array_equal(got.heel, FOUND[0].heel)
    np.testing.assert_array_equal(got.ball, np.arange(10, 30) >= 20)


def test_a_foot_that_touches_with_neither_point_stands_on_what_the_user_has_not_ruled_out():
    (tiptoe,) = edited(FOUND[:1], [Edit(10, 30, "LOCK", heel=(10, 10))], COUNT)
    assert not tiptoe.heel.any() and tiptoe.ball.all()
    (on_heel,) = edited(FOUND[:1], [Edit(10, 30, "LOCK", ball=(10, 10))], COUNT)
    assert not on_heel.ball.any() and on_heel.heel.all()
    (whole,) = edited(FOUND[:1], [Edit(10, 30, "LOCK", heel=(12, 14), ball=(20, 22))], COUNT)
    frames = np.arange(10, 30)
    neither = ~((frames >= 12) & (frames < 14)) & ~((frames >= 20) & (frames < 22))
    assert whole.heel[neither].all() and whole.ball[neither].all()


def test_where_two_edits_meet_the_later_rules():
    got = edited([], [Edit(20, 30, "SLIDE"), Edit(10, 50, "LOCK"), Edit(45, 60, "LOCK")], COUNT)
    assert [(c.start, c.stop, c.locked) for c in got] == [
        (10, 20, True), (20, 30, False), (30, 45, True), (45, 60, True)]  # fmt: skip
    cover(got)


def test_none_takes_nothing_from_other_edits():
    got = edited(FOUND, [Edit(5, 80, "NONE"), Edit(20, 40, "LOCK"), Edit(30, 90, "NONE")], COUNT)
    assert [(c.start, c.stop) for c in got] == [(20, 40)]


def test_a_remainder_of_two_frames_is_no_contact():
    got = edited(FOUND, [Edit(12, 40, "LOCK"), Edit(40, 67, "LOCK")], COUNT)
    assert [(c.start, c.stop) for c in got] == [(12, 40), (40, 67), (67, 70)]
    assert edited([plant(10, 12)], [Edit(20, 30, "NONE")], COUNT)[0].start == 10, "a short one that was found stays"


def test_automatic_slides_where_what_was_found_slides():
    sliding = [Contact(c.start, c.stop, c.heel, c.ball, c.unsure, locked=False) for c in FOUND]
    assert not edited(sliding, [Edit(12, 34, "AUTO")], COUNT)[0].locked
    assert not edited(sliding, [Edit(80, 90, "AUTO")], COUNT)[-1].locked
    assert edited(sliding, [Edit(80, 90, "LOCK")], COUNT)[-1].locked
