"""Writes the pretrained encoder as train.py reads it.

    python3 pretrained.py MODEL OUT

MODEL is the folder with model.fp16.safetensors and tokenizer.json of all-MiniLM-L6-v2.
OUT gets pieces.txt, the word pieces of Latin letters, digits and signs, and
pretrained.npz, the weights: matrices as int8 with a scale for each row. It also gets
embedder.bin, the layers as the program reads them; their pieces are those of weights.bin.
"""
import hashlib
import json
import os
import struct
import sys

import numpy as np

SHA256 = "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d"
POSITIONS = 128

model, out = sys.argv[1:]
with open(os.path.join(model, "model.fp16.safetensors"), "rb") as f:
    file = f.read()
if hashlib.sha256(file).hexdigest() != SHA256:
    sys.exit("model.fp16.safetensors is not the file that these weights come from")
length = struct.unpack("<Q", file[:8])[0]
head = json.loads(file[8 : 8 + length])


def tensor(name):
    t = head[name]
    begin, end = t["data_offsets"]
    return np.frombuffer(file[8 + length + begin : 8 + length + end], np.float16).reshape(t["shape"]).astype(np.float32)


special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
vocabulary = json.load(open(os.path.join(model, "tokenizer.json")))["model"]["vocab"]
latin = [p for p in sorted(vocabulary, key=vocabulary.get) if all(ord(c) < 0x250 or 0x2000 <= ord(c) < 0x2200 for c in p) and not (p.startswith("[") and len(p) > 1)]
pieces = special + latin
found = {}


def keep(name, a):
    """Matrices as int8 with a scale for each row, vectors as they are."""
    if a.ndim == 1:
        found[name] = a.astype(np.float16)
        return
    scale = np.maximum(np.abs(a).max(1, keepdims=True), 1e-8) / 127
    found[name], found[name + ".scale"] = np.round(a / scale).astype(np.int8), scale.astype(np.float32)


keep("piece.weight", tensor("embeddings.word_embeddings.weight")[[vocabulary[p] for p in pieces]])
keep("place.weight", tensor("embeddings.position_embeddings.weight")[:POSITIONS] + tensor("embeddings.token_type_embeddings.weight")[0])
keep("norm.weight", tensor("embeddings.LayerNorm.weight"))
keep("norm.bias", tensor("embeddings.LayerNorm.bias"))
for i in range(6):
    at = f"encoder.layer.{i}."
    for kind in ("weight", "bias"):
        keep(f"layers.{i}.qkv.{kind}", np.concatenate([tensor(f"{at}attention.self.{x}.{kind}") for x in ("query", "key", "value")]))
        for ours, theirs in (("out", "attention.output.dense"), ("norm1", "attention.output.LayerNorm"), ("up", "intermediate.dense"), ("down", "output.dense"), ("norm2", "output.LayerNorm")):
            keep(f"layers.{i}.{ours}.{kind}", tensor(f"{at}{theirs}.{kind}"))
os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "pieces.txt"), "w") as f:
    f.write("\n".join(pieces) + "\n")
np.savez(os.path.join(out, "pretrained.npz"), **found)
about, data = [], []
for name in [n for n in found if not n.endswith(".scale") and n != "piece.weight"]:
    about.append(dict(name="language." + name, shape=list(found[name].shape)))
    if name + ".scale" in found:
        about[-1]["type"] = "int8"
        data.append(found[name + ".scale"].tobytes())
    data.append(found[name].tobytes())
text = json.dumps(dict(language=dict(d=384, heads=12, layers=6), tensors=about)).encode()
with open(os.path.join(out, "embedder.bin"), "wb") as f:
    f.write(b"PRLR" + struct.pack("<I", len(text)) + text + b"".join(data))
print(len(pieces), "pieces,", os.path.getsize(os.path.join(out, "pretrained.npz")), "bytes")
