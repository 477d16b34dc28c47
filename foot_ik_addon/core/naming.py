"""All that bone names can tell: a name proposes side, roles and use of a bone; `legs` decides.

The vocabulary covers the systems of the naming table (Mixamo, Rigify, Auto-Rig Pro, Unreal, Unity, VRM, MMD,
Reallusion, Daz, MakeHuman, SMPL, Biped, Source, motion capture) and words of some languages. Names collide between
systems (LeftFoot is the ankle in Mixamo and the ball in SMPL), so a name may propose several roles, each with a
strength.
"""
from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace
from functools import lru_cache

UPPER, LOWER, FOOT, TOE = "upper", "lower", "foot", "toe"
FRONT, MIDDLE, HIND = "Front", "Middle", "Hind"
DEFORM, PLAIN, COPY, ORIGINAL, FK, CONTROL = range(6)  # layers of a rig, the better leg first

# Role strengths of a name's words, joined without side, prefix and digits: 3 is a word that means one thing.
ROLES = {
    "thigh": {UPPER: 3}, "upleg": {UPPER: 3}, "upperleg": {UPPER: 3}, "legupper": {UPPER: 3}, "legup": {UPPER: 3},
    "femur": {UPPER: 3},
    "hip": {UPPER: 2}, "hips": {UPPER: 2}, "hipjoint": {UPPER: 0.5}, "leg": {UPPER: 1, LOWER: 2},
    "shin": {LOWER: 3}, "calf": {LOWER: 3}, "lowleg": {LOWER: 3}, "lowerleg": {LOWER: 3}, "leglower": {LOWER: 3},
    "leglow": {LOWER: 3}, "leglo": {LOWER: 3},
    "tibia": {LOWER: 3}, "knee": {LOWER: 3},
    "ankle": {FOOT: 3}, "foot": {FOOT: 3, TOE: 1}, "feet": {FOOT: 3}, "legfoot": {FOOT: 3}, "paw": {FOOT: 2, TOE: 1},
    "tarsus": {FOOT: 2},
    "toe": {TOE: 3}, "toes": {TOE: 3}, "toebase": {TOE: 3}, "ball": {TOE: 3}, "bigtoe": {TOE: 2}, "hoof": {TOE: 2},
    "smalltoe": {TOE: 1}, "footthumb": {TOE: 1},
    # front legs of an animal: arms, if a foot or a toe ends them
    "forefoot": {FOOT: 3}, "foreleg": {UPPER: 1, LOWER: 2},
    "upperarm": {UPPER: 0.5}, "humerus": {UPPER: 0.5}, "forearm": {LOWER: 0.5}, "lowerarm": {LOWER: 0.5},
    "hand": {FOOT: 0.5},
    # German, French, Spanish
    "oberschenkel": {UPPER: 3}, "cuisse": {UPPER: 3}, "muslo": {UPPER: 3},
    "unterschenkel": {LOWER: 3}, "mollet": {LOWER: 3}, "jambe": {UPPER: 1, LOWER: 2}, "pierna": {UPPER: 1, LOWER: 2},
    "fuss": {FOOT: 3, TOE: 1}, "pied": {FOOT: 3, TOE: 1}, "pie": {FOOT: 3, TOE: 1},
    "zehe": {TOE: 3}, "zehen": {TOE: 3}, "dedos": {TOE: 2}, "orteil": {TOE: 3}, "orteils": {TOE: 3},
}
LEG_BY_NUMBER = {1: {UPPER: 2, LOWER: 0.5}, 2: {LOWER: 2, FOOT: 0.5}, 3: {FOOT: 2.5}, 4: {TOE: 1}}  # SMAL: LLegBack1..3
FRONT_LEG = {"upperarm", "humerus", "forearm", "lowerarm", "hand", "forefoot", "foreleg"}
ARM = {"arm", "upperarm", "uparm", "humerus", "forearm", "lowerarm", "lowarm", "elbow", "wrist", "hand", "shoulder"}
ONLY_WITH_SIDE = {"hip", "hips", "hipjoint"}  # without one they are the pelvis
PELVIS = {"hip", "hips", "pelvis", "midhip", "lowertorso", "torso", "waist", "groove", "center", "lowerbody", "cog",
          "com", "rootx"}
TRUNK = {"spine", "chest", "ribcage", "neck", "head", "uppertorso", "upperchest", "upperbody", "abdomen",
         "abdomenlower", "abdomenupper", "chestlower", "chestupper", "ab", "back", "lowerback", "lowerneck", "stomach"}

SIDES = {"l": "L", "left": "L", "lft": "L", "links": "L", "gauche": "L", "izq": "L", "izquierda": "L",
         "r": "R", "right": "R", "rgt": "R", "rechts": "R", "droite": "R", "der": "R", "derecha": "R"}
LIMBS = {"front": FRONT, "middle": MIDDLE, "mid": MIDDLE, "hind": HIND, "back": HIND, "rear": HIND}
HELPERS = {"twist", "roll", "share", "end", "nub", "ik", "pole", "target", "mch", "wgt", "vis", "parent", "tweak",
           "heel", "goal", "hint", "helper", "pivot", "cancel", "socket", "attach", "corrective", "effector", "site",
           "tip", "spin", "swing", "rock"}
TERMINALS = {"nub", "end", "tip", "site"}
NOT_LEG = {"skirt", "dress", "cloth", "coat", "cape", "hair", "tail", "wing", "fin", "ear", "finger", "weapon",
           "holster", "muscle", "jiggle", "armor", "pocket", "belt", "strap", "trouser", "pants"}
LAYERS = {"def": DEFORM, "org": ORIGINAL, "fk": FK, "ctrl": CONTROL, "ctl": CONTROL, "control": CONTROL, "con": CONTROL}
NOISE = {"mixamorig", "cc", "base", "j", "bip", "biped", "valve", "skel", "joint", "jnt", "jt", "bone", "bn", "bind",
         "skin", "sk", "b", "robot", "character", "rig", "stretch", "bend", "deform", "geo"}

EAST_ASIAN = (  # in this order: a longer word before the one that it contains
    ("全ての親", " root "), ("センター", " center "), ("グルーブ", " groove "), ("下半身", " lowerbody "),
    ("上半身", " upperbody "), ("足先EX", " toe "), ("足先ex", " toe "), ("足首", " ankle "), ("手首", " wrist "),
    ("つま先", " toe "), ("爪先", " toe "),
    ("太もも", " thigh "), ("太腿", " thigh "), ("大腿", " thigh "), ("もも", " thigh "), ("すね", " shin "),
    ("脛", " shin "), ("小腿", " calf "), ("脚踝", " ankle "), ("脚趾", " toe "), ("脚", " foot "),
    ("骨盤", " pelvis "), ("骨盆", " pelvis "),
    ("ひざ", " knee "), ("膝", " knee "), ("足", " leg "), ("腰", " waist "), ("ひじ", " elbow "), ("腕", " arm "),
    ("肩", " shoulder "), ("頭", " head "), ("首", " neck "), ("捩", " twist "), ("親", " parent "),
    ("キャンセル", " cancel "), ("先", " end "), ("左", " left "), ("右", " right "))
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
ABBREVIATION = re.compile(r" \[(?!left\]|right\])[^\]]{3,}\]$", re.IGNORECASE)
"""What repeats a name at its end: NPC L Thigh [LThg]."""
KNOWN = set(ROLES) | PELVIS | TRUNK | HELPERS | NOT_LEG


@dataclass(frozen=True)
class BoneName:
    """What a bone's name proposes.

    `stem` is its words joined without side, prefix and digits; `roles` maps a leg role to a strength from
    0.5 (weak) to 3. `helper` bones (twist, IK, pole, end ...) are never picked; a `terminal` one merely ends a chain.
    """

    side: str = ""  # "L", "R" or ""
    stem: str = ""
    digits: tuple[int, ...] = ()
    limb: str = ""  # "Front", "Middle", "Hind" or ""
    layer: int = PLAIN
    roles: dict[str, float] = field(default_factory=dict)
    helper: bool = False
    terminal: bool = False

    @property
    def pelvis(self) -> bool:
        """A name for the bone that carries the body."""
        return not self.side and not self.helper and self.stem in PELVIS

    @property
    def trunk(self) -> bool:
        """A name of the spine, neck or head."""
        return not self.side and not self.helper and self.stem in TRUNK


def words(name: str) -> list[str]:
    """Split a bone name into words and numbers, in their own case; namespaces and full-width letters are resolved."""
    text = unicodedata.normalize("NFKC", name)
    text = ABBREVIATION.sub("", re.split(r"[:|]", text)[-1]).replace("ß", "ss")
    for word, english in EAST_ASIAN:
        text = text.replace(word, english)
    out = []
    for word in WORD.findall(text):
        out.extend(_unglue(word))
    return out


def _unglue(word: str) -> list[str]:
    """Part a side from the lower-case word that it is glued to: lfemur, leftupleg."""
    low = word.lower()
    if low in KNOWN or low in SIDES:
        return [word]
    for side in ("left", "right", "l", "r"):
        if low.startswith(side) and low[len(side):] in ROLES:
            return [side, low[len(side):]]
    return [word]


@lru_cache(maxsize=8192)
def parse(name: str) -> BoneName:
    """Read one bone name."""
    low = [w.lower() for w in words(name)]
    low = [w for before, w in zip(["", *low], low) if not (w.isdigit() and before == "bip")]  # Bip01, Bip001
    digits = tuple(int(w) for w in low if w.isdigit())
    low = [w for w in low if not w.isdigit()]

    layer = PLAIN
    if low[:1] == ["c"] and len(low) > 1 and low[1] not in SIDES:
        layer, low = CONTROL, low[1:]
    sides = [i for i, w in enumerate(low) if w in SIDES]
    side, limb, rest = "", "", []
    if sides:
        side = SIDES[low[sides[-1]]]
    for i, w in enumerate(low):
        if i in sides[-1:]:
            continue
        if i == 0 and w in ("f", "r") and side and len(low) > 2:  # Rigify's f_toe.L and r_toe.L
            limb = FRONT if w == "f" else HIND
        elif w in LAYERS:
            layer = max(layer, LAYERS[w]) if layer != PLAIN else LAYERS[w]
        elif w == "d" and i == len(low) - 1:  # MMD's second leg, which follows the first
            layer = COPY
        elif w in LIMBS and (w != "back" or side):
            limb = LIMBS[w]
        elif w not in ("c", "m"):
            rest.append(w)

    helper = any(w in HELPERS for w in rest)
    terminal = any(w in TERMINALS for w in rest)
    content = [w for w in rest if w not in NOISE and w not in HELPERS]
    stem, unknown = _stem(content)
    if low[-2:] == ["root", "x"]:  # Auto-Rig Pro calls its hips root.x
        stem = "rootx"
    elif side and "joint" in rest and stem in ("hip", "hips"):  # LHipJoint, between pelvis and thigh
        stem = "hipjoint"
    if stem in FRONT_LEG:
        limb = FRONT
    return BoneName(side, stem, digits, limb, layer, _roles(stem, unknown, side, digits), helper, terminal)


def in_series(word: BoneName, number: int) -> BoneName:
    """The same word, of the bone that is the `number`th of a leg's bones of one name."""
    return replace(word, roles=LEG_BY_NUMBER.get(number, {}), helper=False, terminal=False)


def _stem(content: list[str]) -> tuple[str, int]:
    """The longest run of last words that the vocabulary knows, joined, and the number of words left before it.

    The side of Auto-Rig Pro's middle bones (spine_01.x) is no word. Hair, clothes and the like keep all of theirs.
    """
    if content[-1:] == ["x"]:
        content = content[:-1]
    if not any(w in NOT_LEG for w in content):
        for unknown in range(len(content)):
            tail = "".join(content[unknown:])
            if tail in KNOWN:
                return tail, unknown
    return "".join(content), 0


def _roles(stem: str, unknown: int, side: str, digits: tuple[int, ...]) -> dict[str, float]:
    """Leg roles of a stem; each unknown word before it (Robot_LeftLeg) costs a little."""
    if not side and stem in ONLY_WITH_SIDE:
        return {}
    found = ROLES.get(stem, {})
    if stem == "leg" and digits and digits[-1] in LEG_BY_NUMBER:
        found = LEG_BY_NUMBER[digits[-1]]
    return {role: strength - 0.25 * min(unknown, 2) for role, strength in found.items()}
