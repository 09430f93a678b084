"""Trains the reader's network on the tensors that `export` writes.

    python3 train.py DATA OUT [--minutes 6] [--seed 1] ...

DATA is the folder of export. OUT gets weights.bin in the format that package net
documents, and golden.json.gz: some examples with what the network gives for them, for
the test of package net. Everything that the network reads was computed in Go; this
file knows arrays only.
"""
import argparse
import gzip
import hashlib
import json
import math
import os
import struct
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

args = argparse.ArgumentParser()
args.add_argument("data")
args.add_argument("out")
args.add_argument("--minutes", type=float, default=6)
args.add_argument("--seed", type=int, default=1)
args.add_argument("--d", type=int, default=192)
args.add_argument("--encoder", type=int, default=6)
args.add_argument("--decoder", type=int, default=2)
args.add_argument("--heads", type=int, default=8)
args.add_argument("--drop", type=float, default=0.15)
args.add_argument("--lr", type=float, default=7e-4)
args.add_argument("--items", type=int, default=24000, help="items in a batch")
args.add_argument("--made", type=float, default=0.45, help="share of questions made by templates")
args.add_argument("--without", help="a set of databases that is not trained on")
args.add_argument("--steps", type=int, default=0, help="at most so many steps, for a dry run")
args.add_argument("--checkpoint", help="file to stop at after --slice minutes, and to go on from where it exists")
args.add_argument("--slice", type=float, default=9)
args = args.parse_args()

start = time.time()
torch.manual_seed(args.seed)
rng = np.random.default_rng(args.seed)
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = True


def log(*words):
    print(f"[{time.time() - start:.0f}]", *words, flush=True)


head = json.load(open(os.path.join(args.data, "head.json")))
KEYWORDS, RELATIONS = len(head["keywords"]), head["relations"]
LINKS = sum(1 << r for r in range(9, 20))  # relations that training hides now and then
TRAIN, DEV, VALIDATION = 0, 1, 2
PEOPLE, TEMPLATE, ELSEWHERE = 0, 1, 2


class Data:
    """All examples, as flat arrays on the device."""

    def __init__(self, path):
        def array(name, kind, width=None):
            a = np.fromfile(os.path.join(path, name), dtype=kind)
            return a.reshape(-1, width) if width else a

        meta = array("meta.i32", np.int32, 6)
        self.n, self.m, self.part, self.source, self.db, self.none = (meta[:, i].astype(np.int64) for i in range(6))
        load = lambda a, kind: torch.from_numpy(a).to(device).to(kind)
        self.words = load(array("words.i32", np.int32, head["words"]), torch.int32)
        self.own = load(array("own.i32", np.int32, head["words"]), torch.int32)
        self.cells = load(array("cells.i32", np.int32, head["cells"]), torch.int32)
        self.kinds = load(array("kinds.u8", np.uint8), torch.int64)
        self.buckets = load(array("buckets.u8", np.uint8), torch.int64)
        self.relations = load(array("relations.u64", np.int64), torch.int64)
        self.targets = load(array("targets.i32", np.int32), torch.int64)
        self.vectors = load(array("vectors.f32", np.float32, head["dim"]), torch.float32)
        offsets = lambda sizes: torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)[:-1]])).to(device)
        self.at, self.rat, self.tat = offsets(self.n), offsets(self.n**2), offsets(self.m)
        self.nt, self.mt = torch.from_numpy(self.n).to(device), torch.from_numpy(self.m).to(device)
        self.nonet = torch.from_numpy(self.none).to(device)

    def batch(self, index):
        size, length = int(self.n[index].max()), int(self.m[index].max())
        i = torch.from_numpy(index)
        i = i.pin_memory().to(device, non_blocking=True) if device == "cuda" else i
        n = self.nt[i]
        item = torch.arange(size, device=device)
        ok = item[None] < n[:, None]
        p = torch.where(ok, self.at[i][:, None] + item[None], 0)
        rp = self.rat[i][:, None, None] + item[None, :, None] * n[:, None, None] + item[None, None, :]
        both = ok[:, :, None] & ok[:, None, :]
        step = torch.arange(length, device=device)
        has = step[None] < self.mt[i][:, None]
        target = torch.where(has, self.targets[torch.where(has, self.tat[i][:, None] + step[None], 0)], -1)
        return dict(
            words=self.words[p].long(),
            own=self.own[p].long(),
            cells=self.cells[p].long(),
            kinds=torch.where(ok, self.kinds[p], 0),
            buckets=torch.where(ok, self.buckets[p], 0),
            relations=torch.where(both, self.relations[torch.where(both, rp, 0)], 0),
            ok=ok,
            target=target,
            none=self.nonet[i],
        )


class EncoderLayer(nn.Module):
    def __init__(self, d, heads, drop):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.relation = nn.Parameter(torch.zeros(heads, RELATIONS, d // heads))
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.drop = nn.Dropout(drop)

    def forward(self, x, bits, ok, bias):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads) + bias
        a = self.drop(a.masked_fill(~ok[:, None, None, :], -1e4).softmax(-1))
        # Each relation adds a vector to what an item takes from another.
        through = torch.matmul(a.permute(0, 2, 1, 3), bits.to(a.dtype))
        o = (a @ v).transpose(1, 2) + torch.einsum("bnhr,hrd->bnhd", through, self.relation.to(through.dtype))
        x = x + self.drop(self.out(o.reshape(b, n, d)))
        return x + self.drop(self.down(self.drop(F.gelu(self.up(self.norm2(x)), approximate="tanh"))))


class DecoderLayer(nn.Module):
    def __init__(self, d, heads, drop):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.query, self.keys, self.cross = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.drop = nn.Dropout(drop)

    def forward(self, x, memory, ok, causal):
        b, m, d = x.shape
        h, w = self.heads, d // self.heads
        q, k, v = self.qkv(self.norm1(x)).view(b, m, 3, h, w).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2) / math.sqrt(w) + causal).softmax(-1)
        x = x + self.drop(self.out((self.drop(a) @ v).transpose(1, 2).reshape(b, m, d)))
        q = self.query(self.norm2(x)).view(b, m, h, w).transpose(1, 2)
        k, v = self.keys(memory).view(b, -1, 2, h, w).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2) / math.sqrt(w)).masked_fill(~ok[:, None, None, :], -1e4).softmax(-1)
        x = x + self.drop(self.cross((self.drop(a) @ v).transpose(1, 2).reshape(b, m, d)))
        return x + self.drop(self.down(self.drop(F.gelu(self.up(self.norm3(x)), approximate="tanh"))))


class Net(nn.Module):
    def __init__(self, d, encoder, decoder, heads, drop, vectors):
        super().__init__()
        self.d, self.heads = d, heads
        self.register_buffer("vectors", vectors / vectors[1:].std(), persistent=False)

        def table(n, std):
            e = nn.Embedding(n, d)
            nn.init.normal_(e.weight, std=std)
            return e

        self.word, self.own = nn.Linear(head["dim"], d), table(len(head["vocabulary"]), 0.3)
        self.kind, self.bucket, self.cell = table(head["kinds"], 0.5), table(head["buckets"], 0.3), nn.Linear(head["dim"], d)
        self.place = table(64, 0.2)
        self.bias = nn.Linear(RELATIONS, encoder * heads, bias=False)
        self.encoder = nn.ModuleList(EncoderLayer(d, heads, drop) for _ in range(encoder))
        self.decoder = nn.ModuleList(DecoderLayer(d, heads, drop) for _ in range(decoder))
        self.norm, self.last = nn.LayerNorm(d), nn.LayerNorm(d)
        self.keyword, self.pointed, self.step = table(KEYWORDS + 1, 0.5), nn.Linear(d, d), table(80, 0.2)
        self.say, self.point, self.item = nn.Linear(d, KEYWORDS), nn.Linear(d, d), nn.Linear(d, d)
        self.judge, self.answerable = nn.Linear(2 * d, d), nn.Linear(d, 1)
        self.drop = nn.Dropout(drop)

    def mean(self, table, index):
        has = (index >= 0)[..., None]
        # embedding, not an index: its gradient is fast where many indices are the same.
        return (F.embedding(index.clamp(min=0), table) * has).sum(2) / has.sum(2).clamp(min=1), has.any(2)

    def encode(self, b):
        own, cells, relations = b["own"], b["cells"], b["relations"]
        if self.training:
            own = torch.where(torch.rand(own.shape, device=device) < 0.15, own.clamp(max=0), own)
            lost = torch.rand(relations.shape[:2], device=device) < 0.08
            relations = torch.where(lost[:, :, None] | lost[:, None, :], relations & ~LINKS, relations)
            cells = torch.where(torch.rand(cells.shape, device=device) < 0.2, -1, cells)
            cells = torch.where(torch.rand(cells.shape[:2], device=device)[..., None] < 0.15, -1, cells)
        meaning, _ = self.mean(self.vectors, b["words"])
        own_mean, _ = self.mean(self.own.weight, own)
        has = (b["words"] >= 0).any(2)[..., None]
        x = self.word(meaning) * has + own_mean + self.kind(b["kinds"])
        contents, filled = self.mean(self.vectors, cells)
        x = x + self.cell(contents) * filled + self.bucket(b["buckets"]) * (b["buckets"] > 0)[..., None]
        place = torch.arange(x.shape[1], device=device).clamp(max=63)
        question = (b["kinds"] == 0) & b["ok"]
        x = self.drop(x + self.place(place)[None] * question[..., None])
        bits = ((relations[..., None] >> torch.arange(RELATIONS, device=device)) & 1).to(torch.bfloat16 if torch.is_autocast_enabled("cuda") else torch.float32)
        bias = self.bias(bits).permute(0, 3, 1, 2)
        for i, layer in enumerate(self.encoder):
            x = layer(x, bits, b["ok"], bias[:, i * self.heads : (i + 1) * self.heads])
        return self.norm(x)

    def judged(self, memory, b):
        """How sure it is that the data holds an answer, as a logit."""
        question = ((b["kinds"] == 0) & b["ok"])[..., None]
        words = (memory * question).sum(1) / question.sum(1).clamp(min=1)
        best = memory.masked_fill(~b["ok"][..., None], -1e4).amax(1)
        return self.answerable(F.gelu(self.judge(torch.cat([words, best], -1)), approximate="tanh"))[:, 0]

    def decode(self, memory, b, y):
        """Logits of what follows each token of y; -1 begins."""
        steps = y.shape[1]
        keyword = self.keyword(torch.where(y < 0, KEYWORDS, torch.where(y < KEYWORDS, y, 0)))
        pointed = self.pointed(torch.gather(memory, 1, (y - KEYWORDS).clamp(min=0)[..., None].expand(-1, -1, self.d)))
        x = torch.where((y < KEYWORDS)[..., None], keyword.to(memory.dtype), pointed.to(memory.dtype))
        x = self.drop(x + self.step(torch.arange(steps, device=device).clamp(max=79))[None])
        causal = torch.full((steps, steps), -1e4, device=device).triu(1)
        for layer in self.decoder:
            x = layer(x, memory, b["ok"], causal)
        x = self.last(x)
        items = self.point(x) @ self.item(memory).transpose(1, 2) / math.sqrt(self.d)
        items = items.masked_fill((~b["ok"] | (b["kinds"] == 0))[:, None], -1e4)
        return torch.cat([self.say(x), items], -1)


def loss_of(net, b, smooth=0.05):
    memory = net.encode(b)
    y = b["target"]
    before = torch.cat([torch.full_like(y[:, :1], -1), y[:, :-1].clamp(min=0)], 1)
    logits = net.decode(memory, b, before).float()
    logs = logits.log_softmax(-1)
    counted = (y >= 0) & (b["none"] == 0)[:, None]
    nll = -logs.gather(-1, y.clamp(min=0)[..., None])[..., 0]
    if net.training:
        open_ = logits.detach() > -5e3
        nll = (1 - smooth) * nll - smooth * torch.where(open_, logs, 0.0).sum(-1) / open_.sum(-1)
    loss = (nll * counted).sum() / counted.sum().clamp(min=1)
    judged = net.judged(memory, b).float()
    judging = F.binary_cross_entropy_with_logits(judged, (b["none"] == 0).float())
    right = None if net.training else ((logits.argmax(-1) == y) | ~counted).all(1)
    return loss + 0.3 * judging, right, judged


def evaluate(net, data, index):
    net.eval()
    right, told = [], []
    with torch.no_grad(), amp:
        for i in range(0, len(index), 64):
            b = data.batch(index[i : i + 64])
            _, r, j = loss_of(net, b)
            right.append(r[b["none"] == 0].float())
            told.append(((j > 0) == (b["none"] == 0)).float())
    net.train()
    return float(torch.cat(right).mean()), float(torch.cat(told).mean())


data = Data(args.data)
log(len(data.n), "examples,", int(data.n.sum()), "items")
sets = np.array([name.split("/")[0] for name in head["databases"]])[data.db]
train = np.nonzero((data.part == TRAIN) & (sets != args.without))[0]
groups = [train[data.source[train] == s] for s in (PEOPLE, TEMPLATE, ELSEWHERE)]
dev = np.nonzero((data.part == DEV))[0]
dev = dev[np.argsort(data.n[dev], kind="stable")]
log("people", len(groups[0]), "template", len(groups[1]), "elsewhere", len(groups[2]), "dev", len(dev))
net = Net(args.d, args.encoder, args.decoder, args.heads, args.drop, data.vectors).to(device)
log(sum(p.numel() for p in net.parameters()), "parameters")
optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.02, fused=device == "cuda")
amp = torch.autocast("cuda", dtype=torch.bfloat16, enabled=device == "cuda")


def batches():
    """Examples of similar size together, people's and made ones mixed."""
    while True:
        total = 40000
        shares = [1 - args.made - 0.08, args.made, 0.08]
        chosen = np.concatenate([rng.choice(g, int(total * s)) for g, s in zip(groups, shares) if len(g)])
        chosen = chosen[np.argsort(data.n[chosen] + rng.random(len(chosen)) * 6)]
        cut, i = [], 0
        while i < len(chosen):
            n = min(args.items // 55, max(8, int(args.items / max(data.n[chosen[min(i + 200, len(chosen) - 1)]], 20))))
            cut.append(chosen[i : i + n])
            i += n
        rng.shuffle(order := np.arange(len(cut)))
        for k in order:
            yield cut[k]


net.train()
limit, began, step, seen, next_look = args.minutes * 60, time.time(), 0, 0, 0.125
average, earlier = None, 0
if args.checkpoint and os.path.exists(args.checkpoint):
    saved = torch.load(args.checkpoint, map_location=device)
    net.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["optimizer"])
    average, earlier, step, seen, next_look = (saved[k] for k in ("average", "earlier", "step", "seen", "next_look"))
    rng = np.random.default_rng([args.seed, step])
    log("goes on after step", step)
for index in batches():
    spent = time.time() - began
    done = (earlier + spent) / limit
    if args.checkpoint and done < 1 and spent > args.slice * 60:
        torch.save(dict(net=net.state_dict(), optimizer=optimizer.state_dict(), average=average, earlier=earlier + spent, step=step, seen=seen, next_look=next_look), args.checkpoint)
        log("stopped after step", step)
        raise SystemExit
    if done >= 1 or args.steps and step >= args.steps:
        break
    for g in optimizer.param_groups:
        g["lr"] = args.lr * min(1, (step + 1) / 400) * (0.49 * (1 + math.cos(math.pi * done)) + 0.02)
    with amp:
        loss, _, _ = loss_of(net, data.batch(index))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    step, seen = step + 1, seen + len(index)
    if done > 0.4:
        now = [p.data for p in net.parameters()]
        if average is None:
            average = [p.clone() for p in now]
        else:
            torch._foreach_mul_(average, 0.998)
            torch._foreach_add_(average, now, alpha=0.002)
    if done > next_look:
        next_look += 0.125
        log("step", step, "examples", seen, "loss %.3f" % float(loss), "dev exact %.3f judged %.3f" % evaluate(net, data, dev))
if average is not None:
    for p, a in zip(net.parameters(), average):
        p.data.copy_(a)
net.eval()
log("final", step, "steps; dev exact %.3f judged %.3f" % evaluate(net, data, dev))
for number, name in ((DEV, "dev"), (VALIDATION, "validation")):
    for kind in sorted(set(sets)):
        part = np.nonzero((data.part == number) & (sets == kind) & (data.source == PEOPLE))[0]
        if len(part):
            part = part[np.argsort(data.n[part], kind="stable")]
            log(name, kind, len(part), "exact %.3f judged %.3f" % evaluate(net, data, part))

# The weights: "PRLR", the length of a JSON head, the head, then each tensor as
# float16 in the order of the head's list.
os.makedirs(args.out, exist_ok=True)
tensors = [(name, t.detach().half().cpu().contiguous()) for name, t in net.state_dict().items()]
about = dict(
    d=args.d, heads=args.heads, encoder=args.encoder, decoder=args.decoder, vocabulary=head["vocabulary"], keywords=head["keywords"],
    relations=RELATIONS, kinds=head["kinds"], buckets=head["buckets"], vectorScale=float(1 / data.vectors[1:].std()),
    tensors=[dict(name=n, shape=list(t.shape)) for n, t in tensors],
)
text = json.dumps(about).encode()
file = b"PRLR" + struct.pack("<I", len(text)) + text + b"".join(t.numpy().tobytes() for _, t in tensors)
with open(os.path.join(args.out, "weights.bin"), "wb") as f:
    f.write(file)
log("weights", len(file), "bytes")


@torch.no_grad()
def results(number):
    """What the network gives for one example."""
    b = data.batch(np.array([number]))
    memory = net.encode(b)
    y = b["target"]
    logs = net.decode(memory, b, torch.cat([torch.full_like(y[:, :1], -1), y[:, :-1]], 1)).log_softmax(-1)
    greedy, gap, step = torch.full_like(y[:, :1], -1), 1e9, -1
    while step != 0 and greedy.shape[1] <= 60:
        best = net.decode(memory, b, greedy)[0, -1].topk(2)
        step, gap = int(best.indices[0]), min(gap, float(best.values[0] - best.values[1]))
        greedy = torch.cat([greedy, best.indices[:1][None]], 1)
    items = [i * (memory.shape[1] - 1) // 3 for i in range(4)]
    rounded = lambda t: [round(float(x), 5) for x in t.flatten()]
    return dict(
        memory=rounded(memory[0, items, :4]),
        size=round(float(memory.abs().mean()), 5),
        answerable=round(float(net.judged(memory, b)[0]), 5),
        logs=rounded(logs.gather(-1, y[..., None])),
        greedy=greedy[0, 1:].tolist(),
        gap=round(gap, 5),
    )


# The goldens: in full precision, with the weights as they were written.
net.eval()
torch.backends.cuda.matmul.allow_tf32 = False
for p in net.parameters():
    p.data.copy_(p.data.half())
with gzip.open(os.path.join(args.data, "golden.json.gz"), "rt") as f:
    examples = json.load(f)
for e in examples:
    e.update(results(e["example"]))
with gzip.open(os.path.join(args.out, "golden.json.gz"), "wt") as f:
    json.dump(dict(weights=hashlib.sha256(file).hexdigest(), examples=examples), f)
log("goldens", len(examples))
