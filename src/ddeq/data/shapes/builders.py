"""How each generated shape is put together: a recipe per class, z up, about 1 in size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ddeq.data.shapes.primitives import Mesh, box, cylinder, loft, merge, oval, revolve, wing

__all__ = ["RECIPES"]

Rng = np.random.Generator


def _airplane(rng: Rng) -> Mesh:
    """Fuselage along x, swept wings, tailplane, fin, and often two or four engines."""
    radius = rng.uniform(0.045, 0.07)
    along = np.linspace(0, 1, 24)
    swell = np.minimum(1, (along / 0.12) ** 0.5) * np.minimum(1, ((1.02 - along) / 0.35) ** 0.7)
    body = revolve(radius * swell, 0.5 - along, closed=True).turned("y", np.pi / 2)
    span, sweep = rng.uniform(0.38, 0.55), rng.uniform(0.02, 0.3)
    root, height = rng.uniform(0.15, 0.24), rng.choice([-0.5, 0.0, 0.7]) * radius
    main = wing(root, root * rng.uniform(0.25, 0.6), span, sweep, 0.025).turned(
        "x", rng.uniform(0.0, 0.1)
    )
    main = main.moved(rng.uniform(0.0, 0.1), 0.0, height)
    rise = rng.uniform(0.14, 0.2)
    on_fin = rise if rng.random() < 0.25 else 0.0
    tail = wing(0.11, 0.06, span * rng.uniform(0.33, 0.42), 0.08, 0.015)
    tail = tail.moved(-0.43 - 0.5 * on_fin, 0.0, on_fin)
    fin = wing(0.15, 0.08, rise, 0.1, 0.015).turned("x", np.pi / 2).moved(-0.41)
    parts = [body, main, main.mirrored(), tail, tail.mirrored(), fin]
    for share in ((), (0.33,), (0.28, 0.55))[rng.choice(3, p=[0.25, 0.5, 0.25])]:
        engine = cylinder(0.028, 0.022, 0.12).turned("y", -np.pi / 2)
        engine = engine.moved(0.16 - share * sweep, share * span, height - 0.035)
        parts += [engine, engine.mirrored()]
    return merge(parts)


def _bathtub(rng: Rng) -> Mesh:
    """A deep oval or rounded rectangle with a rim, sometimes on feet."""
    length, width = 0.5, rng.uniform(0.2, 0.28)
    depth, power = rng.uniform(0.22, 0.32), rng.uniform(2.2, 8.0)
    base = rng.uniform(0.7, 0.95)
    wall = rng.uniform(0.03, 0.05)
    up = np.linspace(0, 1, 8)
    outside = [(base + (1 - base) * t**0.6, t * depth, 0.0) for t in up]
    inside = [
        (base * 0.95 + (1 - base * 0.95) * t**0.5, wall + t * (depth - wall), wall)
        for t in up[::-1]
    ]
    rings = [
        oval(length * share - inset, width * share - inset, z, power)
        for share, z, inset in outside + inside
    ]
    parts = [loft(rings)]
    if rng.random() < 0.5:
        foot = cylinder(0.015, 0.035, 0.09).moved(0.55 * length * base, 0.55 * width * base, -0.08)
        back = foot.moved(-1.1 * length * base)
        parts += [foot, foot.mirrored(), back, back.mirrored()]
    return merge(parts)


def _bowl(rng: Rng) -> Mesh:
    """A shallow or deep round bowl, open above, often with a foot."""
    radius, depth = 0.5, rng.uniform(0.2, 0.5)
    foot = rng.uniform(0.12, 0.25)
    power, wall = rng.uniform(1.6, 3.0), rng.uniform(0.012, 0.03)
    share = np.linspace(0, 1, 16)
    r = foot + (radius - foot) * share
    z = depth * share**power
    lip = rng.uniform(0.0, 0.06)
    r_out, z_out = np.append(r, radius + lip), np.append(z, depth + 0.2 * lip)
    outside = revolve(np.append(0.0, r_out), np.append(0.0, z_out))
    inside = revolve(np.append(0.0, r - wall), np.append(0.0, z) + wall)
    parts = [outside, inside]
    if rng.random() < 0.6:
        parts.append(revolve([foot, foot * 0.95], [-rng.uniform(0.03, 0.09), 0.01]))
    return merge(parts)


def _car(rng: Rng) -> Mesh:
    """Bonnet, cabin and boot along x over four wheels; from a low saloon to a van or pick-up."""
    kind = rng.choice(["saloon", "hatchback", "van", "pickup"], p=[0.4, 0.25, 0.2, 0.15])
    width, belt = rng.uniform(0.17, 0.23), rng.uniform(0.18, 0.23)
    roof = belt + {"saloon": 0.11, "hatchback": 0.12, "van": 0.17, "pickup": 0.13}[kind]
    roof += rng.uniform(-0.02, 0.04)
    floor, nose = 0.09, belt - rng.uniform(0.02, 0.06)
    x = {  # nose, bonnet, foot of the windscreen, roof front, roof back, foot of the rear window
        "saloon": [0.5, 0.47, 0.2, 0.07, -0.2, -0.33],
        "hatchback": [0.5, 0.47, 0.22, 0.08, -0.36, -0.47],
        "van": [0.5, 0.47, 0.36, 0.22, -0.47, -0.49],
        "pickup": [0.5, 0.47, 0.22, 0.1, -0.08, -0.11],
    }[kind]
    tops = [nose - 0.04, nose, belt, roof, roof, belt, belt, belt - 0.04]
    rings = []
    for at, top in zip([*x, -0.49, -0.5], tops, strict=True):
        side, inner = min(top, belt), width * (1 - 1.8 * max(0.0, top - belt))
        low = floor + (0.02 if abs(at) >= 0.5 else 0.0)
        right = [(width, low), (width, side), (inner, top)]
        left = [(-y, z) for y, z in reversed(right)]
        rings.append([(at, y, z) for y, z in right + left])
    parts = [loft(rings)]
    radius = rng.uniform(0.085, 0.1)
    wheel = cylinder(radius, radius, 0.07).turned("x", np.pi / 2).moved(0.0, width + 0.025, radius)
    for at in (rng.uniform(0.28, 0.33), -rng.uniform(0.28, 0.33)):
        parts += [wheel.moved(at), wheel.moved(at).mirrored()]
    return merge(parts)


def _chair(rng: Rng) -> Mesh:
    """A seat on four legs or a pedestal, a back of boards, slats or one sheet, sometimes arms."""
    width, depth = rng.uniform(0.4, 0.5), rng.uniform(0.38, 0.48)
    seat, back = rng.uniform(0.38, 0.48), rng.uniform(0.4, 0.6)
    slab = rng.uniform(0.03, 0.07)
    parts = [box(depth, width, slab).moved(z=seat)]
    if rng.random() < 0.75:
        thick, splay = rng.uniform(0.035, 0.055), rng.uniform(0.0, 0.12)
        leg = box(thick, thick, seat, 1.0).turned("y", -splay).turned("x", -splay)
        front = leg.moved(depth / 2 - thick + splay * seat, width / 2 - thick + splay * seat)
        rear = Mesh(front.vertices * [-1.0, 1.0, 1.0], front.triangles)
        parts += [front, front.mirrored(), rear, rear.mirrored()]
    else:
        parts.append(cylinder(0.03, 0.03, seat - 0.05).moved(z=0.05))
        for angle in np.arange(5) * 2 * np.pi / 5:
            parts.append(box(0.26, 0.04, 0.04).moved(0.13).turned("z", angle))
    parts += [p.moved(-depth / 2 + 0.02, z=seat + slab / 2) for p in _chair_back(width, back, rng)]
    if rng.random() < 0.4:
        post = box(0.04, 0.04, 0.22).moved(depth / 2 - 0.06, width / 2 - 0.02, seat + slab)
        rest = box(depth, 0.06, 0.03).moved(0.0, width / 2 - 0.02, seat + slab + 0.21)
        parts += [post, post.mirrored(), rest, rest.mirrored()]
    return merge(parts)


def _chair_back(width: float, height: float, rng: Rng) -> list[Mesh]:
    """The back of a chair, standing at the origin and leaning to -x."""
    kind = rng.choice(["sheet", "slats", "boards"])
    post = box(0.04, 0.04, height).moved(0.0, width / 2 - 0.02)
    if kind == "sheet":
        parts = [box(0.04, width, height, rng.uniform(0.75, 1.0))]
    elif kind == "slats":
        places = np.linspace(-width / 2, width / 2, 6)[1:-1]
        parts = [box(0.02, 0.035, height - 0.05).moved(0.0, y) for y in places]
        parts += [post, post.mirrored(), box(0.04, width, 0.06).moved(z=height - 0.06)]
    else:
        levels = np.linspace(0.25, 1.0, 3) * (height - 0.1)
        parts = [box(0.025, width, 0.09).moved(z=z) for z in levels]
        parts += [post, post.mirrored()]
    lean = rng.uniform(0.05, 0.25)
    return [part.turned("y", -lean) for part in parts]


def _cone(rng: Rng) -> Mesh:
    """A pointed or cut-off cone, often on a square or round plate."""
    radius, height = rng.uniform(0.2, 0.4), rng.uniform(0.7, 1.1)
    tip = rng.choice([0.0, 1.0]) * rng.uniform(0.02, 0.06)
    parts = [cylinder(radius, tip, height)]
    plate = radius * rng.uniform(1.2, 1.5)
    kind = rng.choice(["none", "square", "round"], p=[0.4, 0.4, 0.2])
    if kind == "square":
        parts.append(box(2 * plate, 2 * plate, 0.05).moved(z=-0.05))
    elif kind == "round":
        parts.append(cylinder(plate, plate, 0.05).moved(z=-0.05))
    return merge(parts)


def _toilet(rng: Rng) -> Mesh:
    """An oval bowl on a foot with its seat, a lid up or down, and a cistern behind."""
    a, b = rng.uniform(0.25, 0.31), rng.uniform(0.17, 0.2)
    height = rng.uniform(0.34, 0.42)
    waist = rng.uniform(0.5, 0.75)
    up = np.array([0.0, 0.15, 0.35, 0.6, 0.8, 0.95, 1.0])
    share = np.array([waist + 0.08, waist, waist, waist + 0.12, 0.92, 1.0, 1.0])
    lean = 0.25 * a * (1 - share)  # the foot stands further back than the rim
    outside = [
        oval(a * s, b * s, height * t) - [d, 0, 0] for s, t, d in zip(share, up, lean, strict=True)
    ]
    inside = [oval(a * s, b * s, height * t) for s, t in ((0.72, 1.0), (0.6, 0.8), (0.3, 0.62))]
    seat = [oval(a * s, b * s, height + z) for s, z in ((1.04, 0.0), (1.04, 0.025), (0.74, 0.025))]
    parts = [loft(outside + inside), loft(seat, closed=False)]
    lid = loft([oval(0.9 * a, b, 0.0), oval(0.9 * a, b, 0.02)]).moved(0.9 * a)
    lean_back = rng.uniform(1.65, 1.8) if rng.random() < 0.6 else 0.0
    parts.append(lid.turned("y", -lean_back).moved(-a, z=height + 0.03))
    deep, wide = rng.uniform(0.15, 0.2), rng.uniform(0.38, 0.48)
    tall = rng.uniform(0.28, 0.38)
    behind = -a - deep / 2 - 0.08
    parts.append(box(deep, wide, tall).moved(behind, z=height - 0.02))
    parts.append(box(deep + 0.03, wide + 0.03, 0.03).moved(behind, z=height + tall - 0.02))
    parts.append(box(2 * deep, 0.5 * wide, 0.1).moved(behind + deep / 2, z=height - 0.1))
    return merge(parts)


def _vase(rng: Rng) -> Mesh:
    """A round vessel with foot, belly, neck and lip; smooth in between, open above."""
    radii = np.array(
        [
            rng.uniform(0.12, 0.25),
            rng.uniform(0.22, 0.4),
            rng.uniform(0.06, 0.2),
            rng.uniform(0.12, 0.3),
        ]
    )
    heights = np.array([0.0, rng.uniform(0.3, 0.55), rng.uniform(0.68, 0.85), 1.0])
    z = np.linspace(0, 1, 32)
    part = np.clip(np.searchsorted(heights, z, side="right") - 1, 0, 2)
    t = (z - heights[part]) / (heights[part + 1] - heights[part])
    smooth = t * t * (3 - 2 * t)
    r = radii[part] + (radii[part + 1] - radii[part]) * smooth
    parts = [revolve(np.append(0.0, r), np.append(0.0, z))]
    if rng.random() < 0.25:
        ear = revolve([0.09, 0.11, 0.09], [-0.02, 0.0, 0.02]).turned("x", np.pi / 2)
        ear = ear.moved(float(np.interp(0.72, z, r)) + 0.05, 0.0, 0.68)
        parts += [ear, Mesh(ear.vertices * [-1.0, 1.0, 1.0], ear.triangles)]
    return merge(parts)


RECIPES: dict[str, Callable[[Rng], Mesh]] = {
    "airplane": _airplane,
    "bathtub": _bathtub,
    "bowl": _bowl,
    "car": _car,
    "chair": _chair,
    "cone": _cone,
    "toilet": _toilet,
    "vase": _vase,
}
"""The mesh of a new shape by class, from a generator of random proportions."""
