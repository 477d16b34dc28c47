"""A few of the cases of `make fuzz`."""
import pytest
from blender import fuzzing


@pytest.mark.parametrize("seed", range(20))
def test_random_rig_clip_and_ground(seed):
    assert fuzzing.run(fuzzing.make(seed))
