"""Writes language.json: what a small language encoder gives, computed with numpy.

The weights are int8 of a linear congruential generator, in the order of the test's list.
"""

import json
import pathlib

import numpy as np

D, HEADS, LAYERS, PIECES = 32, 4, 2, 50
state = 1


def take(shape, scale, kind="number"):
    """Returns the next numbers of the generator as a tensor."""
    global state
    numbers = []
    for _ in range(int(np.prod(shape))):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        top = state >> 40
        numbers.append(80 + top % 40 if kind == "norm" else top % 255 - 127)
    return np.array(numbers, np.float64).reshape(shape) * float(np.float32(scale))


def linear(inputs, outputs):
    return take((outputs, inputs), 0.003), take((outputs,), 0.005)


def norm():
    return take((D,), 0.01, "norm"), take((D,), 0.005)


def layer_norm(x, weight, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def attention(qkv):
    out = []
    width = D // HEADS
    for h in range(HEADS):
        q, k, v = (qkv[:, part * D + h * width :][:, :width] for part in range(3))
        logits = q @ k.T / np.sqrt(width)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        out.append(weights / weights.sum(-1, keepdims=True) @ v)
    return np.concatenate(out, 1)


piece, place, first = take((PIECES, D), 0.01), take((128, D), 0.01), norm()
layers = [
    {"qkv": linear(D, 3 * D), "out": linear(D, D), "up": linear(D, 4 * D), "down": linear(4 * D, D), "norm1": norm(), "norm2": norm()}
    for _ in range(LAYERS)
]


def encode(ids):
    def apply(x, layer):
        return x @ layer[0].T + layer[1]

    ids = ids[:128]
    x = layer_norm(piece[ids] + place[: len(ids)], *first)
    for m in layers:
        x = layer_norm(x + apply(attention(apply(x, m["qkv"])), m["out"]), *m["norm1"])
        x = layer_norm(x + apply(gelu(apply(x, m["up"])), m["down"]), *m["norm2"])
    return x


sequences = [[7], [1, 2], [0, 49, 3, 3], [5, 9, 11, 0, 1, 30, 31], [i * 7 % PIECES for i in range(24)], [i * 11 % PIECES for i in range(130)]]
examples = []
for ids in sequences:
    x = encode(ids)
    examples.append({"pieces": ids, "last": [round(v, 5) for v in x[-1]], "size": round(np.abs(x).mean(), 5)})
path = pathlib.Path(__file__).with_name("language.json")
path.write_text("[\n" + ",\n".join(json.dumps(e) for e in examples) + "\n]\n")
