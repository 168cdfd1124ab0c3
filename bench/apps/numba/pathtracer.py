import numba
import numpy as np
from numba import njit, prange
from numpy import float32, sqrt, uint32
from program import n, read, say, steps, timed, write

ZERO, HALF, ONE, TWO, NEAR = float32(0), float32(0.5), float32(1), float32(2), float32(1e-3)
MANY, PART, FAR = uint32(747796405), float32(1 / 2**24), float32(3e38)


@njit
def random(s):
    s = uint32(s * MANY + uint32(2891336453))
    word = uint32(((s >> ((s >> uint32(28)) + uint32(4))) ^ s) * uint32(277803737))
    return s, float32(((word >> uint32(22)) ^ word) >> uint32(8)) * PART


@njit
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def add(a, b, f):
    return a[0] + b[0] * f, a[1] + b[1] * f, a[2] + b[2] * f


@njit
def unit(a):
    f = ONE / sqrt(dot(a, a))
    return a[0] * f, a[1] * f, a[2] * f


@njit
def inside(s):
    while True:
        s, x = random(s)
        s, y = random(s)
        s, z = random(s)
        p = (TWO * x - ONE, TWO * y - ONE, TWO * z - ONE)
        if dot(p, p) < ONE:
            return s, p


@njit
def mirror(ray, normal):
    return add(ray, normal, -TWO * dot(ray, normal))


@njit
def bend(ray, normal, ratio, s):
    c = min(-dot(ray, normal), ONE)
    r = (ONE - ratio) / (ONE + ratio)
    r, f = r * r, ONE - c
    aside = add(ray, normal, c)
    aside = (aside[0] * ratio, aside[1] * ratio, aside[2] * ratio)
    rest = ONE - dot(aside, aside)
    if rest > ZERO:
        s, chance = random(s)
        if r + (ONE - r) * (f * f * (f * f)) * f <= chance:
            return s, add(aside, normal, -sqrt(rest))
    return s, mirror(ray, normal)


@njit
def colour(spheres, start, ray, s):
    light = (ONE, ONE, ONE)
    for _ in range(20):
        far, hit = FAR, -1
        for i in range(len(spheres)):
            o = spheres[i]
            to = add((o[0], o[1], o[2]), start, -ONE)
            h = dot(ray, to)
            d = h * h - dot(to, to) + o[3] * o[3]
            if d < ZERO:
                continue
            near = h - sqrt(d)
            if near < NEAR:
                near = h + sqrt(d)
            if NEAR <= near < far:
                far, hit = near, i
        if hit < 0:
            sky = HALF * (ray[1] + ONE)
            return s, (light[0] * (ONE - sky * HALF), light[1] * (ONE - sky * float32(0.3)), light[2])
        o = spheres[hit]
        start = add(start, ray, far)
        away = add(start, (o[0], o[1], o[2]), -ONE)
        normal = (away[0] / o[3], away[1] / o[3], away[2] / o[3])
        light = (light[0] * o[4], light[1] * o[5], light[2] * o[6])
        if o[7] == 1:
            s, p = inside(s)
            ray = unit(add(mirror(ray, normal), p, o[8]))
        elif o[7] == 2:
            ratio = ONE / o[8]
            if dot(ray, normal) > ZERO:
                normal, ratio = (-normal[0], -normal[1], -normal[2]), o[8]
            s, ray = bend(ray, normal, ratio, s)
            ray = unit(ray)
        else:
            s, p = inside(s)
            ray = unit(add(normal, unit(p), ONE))
    return s, (ZERO, ZERO, ZERO)


@njit(parallel=True)
def trace(samples, spheres, picture):
    size = float32(len(picture))
    for y in prange(len(picture)):
        for x in range(len(picture)):
            s, total = uint32(y * len(picture) + x), (ZERO, ZERO, ZERO)
            for _ in range(samples):
                s, right = random(s)
                s, up = random(s)
                ray = ((float32(x) + right - size / TWO) / size, (size / TWO - float32(y) - up) / size - float32(0.15), -ONE)
                s, light = colour(spheres, (ZERO, ONE, float32(4)), unit(ray), s)
                total = add(total, light, ONE)
            for c in range(3):
                picture[y, x, c] = np.uint8(float32(255) * sqrt(total[c] / float32(samples)))
            picture[y, x, 3] = 255


scene = read().reshape(-1, 9)


def run():
    picture = np.empty((n, n, 4), np.uint8)
    trace(steps, scene.copy(), picture)
    return picture


say("numba " + numba.__version__)
write(timed(run))
