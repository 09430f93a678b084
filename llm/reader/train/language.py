"""The pretrained encoder, and the file of weights, of train.py."""
import json
import math
import struct

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class LanguageLayer(nn.Module):
    """A layer of the pretrained encoder."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, ok):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=ok[:, None, None])
        x = self.norm1(x + self.drop(self.out(a.transpose(1, 2).reshape(b, n, d))))
        return self.norm2(x + self.drop(self.down(F.gelu(self.up(x), approximate="tanh"))))


class Language(nn.Module):
    """The pretrained encoder. Its word pieces are not trained."""

    def __init__(self, weights, heads=12):
        super().__init__()
        weights = {name[len("language.") :]: a for name, a in weights.items() if name.startswith("language.")}
        pieces, self.d = weights["piece.weight"].shape
        self.heads = heads
        self.piece, self.place, self.norm = nn.Embedding(pieces, self.d), nn.Embedding(len(weights["place.weight"]), self.d), nn.LayerNorm(self.d)
        self.layers = nn.ModuleList(LanguageLayer(self.d, heads) for _ in range(1 + max(int(n.split(".")[1]) for n in weights if n.startswith("layers."))))
        self.load_state_dict({n: torch.from_numpy(a) for n, a in weights.items()})
        self.piece.weight.requires_grad = False

    def forward(self, pieces, ok):
        x = self.norm(self.piece(pieces) + self.place.weight[: pieces.shape[1]])
        for layer in self.layers:
            x = layer(x, ok)
        return x


def read(path):
    """The head and the arrays of a file of pretrained.py, or of one that write() has written."""
    if path.endswith(".npz"):
        weights = {"language." + name: a.astype(np.float32) for name, a in np.load(path).items()}
        for name in [n for n in weights if n.endswith(".scale")]:
            weights[name[: -len(".scale")]] *= weights.pop(name)
        return {}, weights
    with open(path, "rb") as f:
        file = f.read()
    at = 8 + struct.unpack("<I", file[4:8])[0]
    about, weights = json.loads(file[8:at]), {}

    def array(kind, shape):
        nonlocal at
        a = np.frombuffer(file, kind, math.prod(shape), at).reshape(shape)
        at += a.nbytes
        return a.astype(np.float32)

    for t in about["tensors"]:
        if t.get("type") == "int8":
            scale = array(np.float32, [t["shape"][0], 1])
            weights[t["name"]] = array(np.int8, t["shape"]) * scale
        else:
            weights[t["name"]] = array(np.float16, t["shape"])
    return about, weights


def tensors_of(net):
    """The tensors of a network for a file: a description and bytes. The weights of linear layers and of the pretrained
    encoder are int8, after the scales of their rows as float32; others are float16. The network goes on with the numbers
    as they are written."""
    whole = {f"{name}.weight" for name, m in net.named_modules() if isinstance(m, nn.Linear) and name != "bias" or name in ("language.piece", "language.place")}
    tensors, file = [], []
    for name, t in net.state_dict().items():
        if name in whole:
            scale = t.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
            numbers = (t / scale).round()
            t.copy_(numbers * scale)
            tensors.append(dict(name=name, shape=list(t.shape), type="int8"))
            file += [scale[:, 0].cpu().numpy().tobytes(), numbers.to(torch.int8).cpu().numpy().tobytes()]
        else:
            t.copy_(t.half())
            tensors.append(dict(name=name, shape=list(t.shape)))
            file.append(t.half().cpu().numpy().tobytes())
    return tensors, file


def write(path, about, data):
    """Writes "PRLR", the length of a JSON head, the head, and the tensors in the order of the head's list."""
    text = json.dumps(about).encode()
    file = b"PRLR" + struct.pack("<I", len(text)) + text + b"".join(data)
    with open(path, "wb") as f:
        f.write(file)
    return file
