"""Trains the reader's network on the tensors that `export` writes.

    python3 train.py DATA PRETRAINED OUT [--minutes 6] [--seed 1] ...

DATA is the folder of export, and PRETRAINED the file of pretrained.py, or earlier weights to go on from. OUT gets weights.bin
in the format that package net documents, and golden.json.gz: some examples with what the
network gives for them, for the test of package net. Everything that the network reads was
computed in Go; this file knows arrays only.
"""
import argparse
import gzip
import hashlib
import json
import math
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from language import Language, read, tensors_of, write

args = argparse.ArgumentParser()
args.add_argument("data")
args.add_argument("pretrained")
args.add_argument("out")
args.add_argument("--minutes", type=float, default=6)
args.add_argument("--seed", type=int, default=1)
args.add_argument("--d", type=int, default=256)
args.add_argument("--encoder", type=int, default=4)
args.add_argument("--decoder", type=int, default=2)
args.add_argument("--heads", type=int, default=8)
args.add_argument("--drop", type=float, default=0.15)
args.add_argument("--lr", type=float, default=7e-4)
args.add_argument("--language-lr", type=float, default=1e-4, help="learning rate of the pretrained encoder")
args.add_argument("--items", type=int, default=24000, help="items in a batch")
args.add_argument("--made", type=float, default=0.45, help="share of questions made by templates")
args.add_argument("--without", help="a set of databases that is not trained on")
args.add_argument("--hide", type=int, nargs="*", default=[], help="relations that are not used")
args.add_argument("--public", type=float, default=2.0, help="weight of questions about published tables")
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
HIDDEN = sum(1 << r for r in args.hide)
LINKS = sum(1 << r for r in range(9, 20))  # relations that training hides now and then
NAME_LENGTHS = [(0, 4), (4, 6), (6, 9), (9, 16)]  # names of similar lengths are encoded together
END = 3  # the last of the special word pieces
BAG_SCALE = 20  # word pieces have small numbers
TRAIN, DEV, VALIDATION = 0, 1, 2
PEOPLE, TEMPLATE, ELSEWHERE = 0, 1, 2


def up(n, to):
    """n, rounded up: few different shapes load few kernels."""
    return -(-int(n) // to) * to


class Data:
    """All examples, as flat arrays on the device."""

    def __init__(self, path):
        def array(name, kind, width=None):
            a = np.fromfile(os.path.join(path, name), dtype=kind)
            return a.reshape(-1, width) if width else a

        meta = array("meta.i32", np.int32, 7)
        self.n, self.m, self.part, self.source, self.db, self.none, self.q = (meta[:, i].astype(np.int64) for i in range(7))
        load = lambda a, kind: torch.from_numpy(a).to(device).to(kind)
        self.question = load(array("question.u16", np.uint16).astype(np.int16), torch.int16)
        self.words = load(array("words.i16", np.int16), torch.int16)
        self.names = load(array("names.i32", np.int32), torch.int32)
        self.bags = load(array("bags.u16", np.uint16, head["bag"]).astype(np.int16), torch.int16)
        self.keywords = load(array("keywords.u8", np.uint8), torch.uint8)
        # The pieces of all names, filled up to the same length.
        lengths = array("name_lengths.i32", np.int32)
        padded = np.zeros((len(lengths), lengths.max()), np.int64)
        padded[np.arange(lengths.max())[None] < lengths[:, None]] = array("name_pieces.u16", np.uint16)
        self.name_pieces, self.name_lengths = load(padded, torch.int64), load(lengths, torch.int64)
        self.kinds = load(array("kinds.u8", np.uint8), torch.int64)
        self.buckets = load(array("buckets.u8", np.uint8), torch.int64)
        self.relations = load(array("relations.u64", np.int64), torch.int64)
        self.targets = load(array("targets.i32", np.int32), torch.int64)
        offsets = lambda sizes: torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)[:-1]])).to(device)
        self.at, self.rat, self.tat, self.qat = offsets(self.n), offsets(self.n**2), offsets(self.m), offsets(self.q)
        self.nt, self.mt, self.qt = (torch.from_numpy(a).to(device) for a in (self.n, self.m, self.q))
        self.nonet = torch.from_numpy(self.none).to(device)

    def batch(self, index):
        size, length = up(self.n[index].max(), 8), up(self.m[index].max(), 4)
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
        piece = torch.arange(up(self.q[index].max(), 8), device=device)
        asked = piece[None] < self.qt[i][:, None]
        qp = torch.where(asked, self.qat[i][:, None] + piece[None], 0)
        names = torch.where(ok, self.names[p].long(), -1)
        used, name = torch.unique(names, return_inverse=True)  # the first is -1, for items without a name
        lengths = self.name_lengths[used[1:]]
        groups, order = [], torch.zeros_like(lengths)
        for a, b in NAME_LENGTHS:
            at = torch.nonzero((lengths > a) & (lengths <= b))[:, 0]
            group = torch.zeros(up(len(at), 256), min(b, self.name_pieces.shape[1]), dtype=torch.int64, device=device)
            group[:, 0] = END
            group[: len(at)] = self.name_pieces[used[1:][at], :b]
            order[at] = sum(len(g) for g in groups) + torch.arange(len(at), device=device)
            groups.append(group)
        return dict(
            question=torch.where(asked, self.question[qp].long(), 0),
            words=torch.where(asked, self.words[qp].long(), -1),
            asked=asked,
            name=name,
            name_pieces=groups,
            name_order=order,
            bags=self.bags[p].long(),
            keywords=torch.where(ok, self.keywords[p].long(), 0),
            kinds=torch.where(ok, self.kinds[p], 0),
            buckets=torch.where(ok, self.buckets[p], 0),
            relations=torch.where(both, self.relations[torch.where(both, rp, 0)], 0) & ~HIDDEN,
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
    def __init__(self, d, encoder, decoder, heads, drop, pretrained):
        super().__init__()
        self.d, self.heads = d, heads
        about, weights = read(pretrained)
        self.language = Language(weights)

        def table(n, std):
            e = nn.Embedding(n, d)
            nn.init.normal_(e.weight, std=std)
            return e

        self.word, self.earlier = nn.Linear(self.language.d, d), table(KEYWORDS, 0.3)
        self.kind, self.bucket, self.cell = table(head["kinds"], 0.5), table(head["buckets"], 0.3), nn.Linear(self.language.d, d)
        self.place = table(64, 0.2)
        self.bias = nn.Linear(RELATIONS, encoder * heads, bias=False)
        self.encoder = nn.ModuleList(EncoderLayer(d, heads, drop) for _ in range(encoder))
        self.decoder = nn.ModuleList(DecoderLayer(d, heads, drop) for _ in range(decoder))
        self.norm, self.last = nn.LayerNorm(d), nn.LayerNorm(d)
        self.keyword, self.pointed, self.step = table(KEYWORDS + 1, 0.5), nn.Linear(d, d), table(80, 0.2)
        self.say, self.point, self.item = nn.Linear(d, KEYWORDS), nn.Linear(d, d), nn.Linear(d, d)
        self.judge, self.answerable = nn.Linear(2 * d, d), nn.Linear(d, 1)
        self.drop = nn.Dropout(drop)
        self.go_on(about.get("keywords", []), weights)

    def go_on(self, keywords, weights):
        """Begins with earlier weights, which may have fewer keywords."""
        state, known = self.state_dict(), torch.tensor([head["keywords"].index(k) for k in keywords], dtype=torch.int64)
        for name, a in weights.items():
            a = torch.from_numpy(a)
            if name in ("earlier.weight", "say.weight", "say.bias"):
                state[name][known] = a
            elif name == "keyword.weight":  # the last one begins
                state[name][known], state[name][-1] = a[:-1], a[-1]
            else:
                state[name].copy_(a)

    def named(self, pieces):
        """The pretrained encoder's vectors of names. Training computes gradients for some of them only, which is as good and faster."""
        if self.training:
            order = torch.randperm(len(pieces), device=device)
            taught = up(0.3 * len(pieces), 64)
            with torch.no_grad():
                others = self.mean_of(pieces[order[taught:]])
            return torch.cat([self.mean_of(pieces[order[:taught]]), others])[torch.argsort(order)]
        return self.mean_of(pieces)

    def mean_of(self, pieces):
        if not len(pieces):
            return torch.zeros(0, self.language.d, device=device)
        inside = (pieces > END)[..., None]
        return (self.language(pieces, pieces > 0) * inside).float().sum(1) / inside.sum(1).clamp(min=1)

    def meanings(self, b):
        """The pretrained encoder's vector of each question word, and of each name."""
        size, d = b["ok"].shape, self.language.d
        words = b["words"]
        item = (torch.arange(size[0], device=device)[:, None] * size[1] + words)[words >= 0]
        x = self.language(b["question"], b["asked"])[words >= 0].float()
        asked = torch.zeros(size[0] * size[1], d, device=device).index_add(0, item, x)
        count = torch.zeros(size[0] * size[1], device=device).index_add(0, item, torch.ones_like(item, dtype=torch.float32))
        names = torch.cat([self.named(pieces) for pieces in b["name_pieces"] if len(pieces)])[b["name_order"]]
        names = torch.cat([torch.zeros_like(names[:1]), names])
        return (asked / count.clamp(min=1)[:, None]).view(*size, d) + F.embedding(b["name"], names)

    def encode(self, b):
        bags, relations = b["bags"], b["relations"]
        if self.training:
            lost = torch.rand(relations.shape[:2], device=device) < 0.1
            relations = torch.where(lost[:, :, None] | lost[:, None, :], relations & ~LINKS, relations)
            bags = torch.where(torch.rand(bags.shape, device=device) < 0.15, 0, bags)
            bags = torch.where(torch.rand(bags.shape[:2], device=device)[..., None] < 0.1, 0, bags)
        x = self.word(self.meanings(b)) + self.kind(b["kinds"])
        has = (bags > 0)[..., None]
        contents = (self.language.piece(bags) * has).sum(2) / has.sum(2).clamp(min=1)
        x = x + self.cell(contents * BAG_SCALE) * has.any(2)
        keywords = b["keywords"]
        x = x + self.earlier((keywords - 1).clamp(min=0)) * (keywords > 0)[..., None] + self.bucket(b["buckets"]) * (b["buckets"] > 0)[..., None]
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
weights = [np.where(sets[g] == "public", args.public, 1.0) for g in groups]
weights = [np.cumsum(w) / w.sum() for w in weights]
dev = np.nonzero((data.part == DEV))[0]
dev = dev[np.argsort(data.n[dev], kind="stable")]
log("people", len(groups[0]), "template", len(groups[1]), "elsewhere", len(groups[2]), "dev", len(dev))
net = Net(args.d, args.encoder, args.decoder, args.heads, args.drop, args.pretrained).to(device)
trained = [p for p in net.parameters() if p.requires_grad]
log(sum(p.numel() for p in net.parameters()), "parameters")
language = [p for p in net.language.parameters() if p.requires_grad]
others = [p for name, p in net.named_parameters() if not name.startswith("language.")]
optimizer = torch.optim.AdamW(
    [dict(params=others, share=1.0), dict(params=language, share=args.language_lr / args.lr)],
    lr=args.lr, betas=(0.9, 0.98), weight_decay=0.02, fused=device == "cuda",
)
amp = torch.autocast("cuda", dtype=torch.bfloat16, enabled=device == "cuda")


def batches():
    """Examples of similar size together, people's and made ones mixed."""
    while True:
        total = 40000
        shares = [1 - args.made - 0.08, args.made, 0.08]
        chosen = np.concatenate([g[np.searchsorted(w, rng.random(int(total * s)))] for g, w, s in zip(groups, weights, shares) if len(g)])
        chosen = chosen[np.argsort(data.n[chosen] + rng.random(len(chosen)) * 6)]
        cut, i = [], 0
        while i < len(chosen):
            n = max(8, int(min(args.items // 55, args.items / max(data.n[chosen[min(i + 200, len(chosen) - 1)]], 20)) // 16 * 16))
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
        g["lr"] = g["share"] * args.lr * min(1, (step + 1) / 400) * (0.49 * (1 + math.cos(math.pi * done)) + 0.02)
    with amp:
        loss, _, _ = loss_of(net, data.batch(index))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    step, seen = step + 1, seen + len(index)
    if done > 0.4:
        now = [p.data for p in trained]
        if average is None:
            average = [p.clone() for p in now]
        else:
            torch._foreach_mul_(average, 0.998)
            torch._foreach_add_(average, now, alpha=0.002)
    if done > next_look:
        next_look += 0.125
        log("step", step, "examples", seen, "loss %.3f" % loss.item(), "dev exact %.3f judged %.3f" % evaluate(net, data, dev))
if average is not None:
    for p, a in zip(trained, average):
        p.data.copy_(a)
net.eval()
log("final", step, "steps; dev exact %.3f judged %.3f" % evaluate(net, data, dev))
for number, name in ((DEV, "dev"), (VALIDATION, "validation")):
    for kind in sorted(set(sets)):
        part = np.nonzero((data.part == number) & (sets == kind) & (data.source == PEOPLE))[0]
        if len(part):
            part = part[np.argsort(data.n[part], kind="stable")]
            log(name, kind, len(part), "exact %.3f judged %.3f" % evaluate(net, data, part))

net.float()
tensors, file = tensors_of(net)
os.makedirs(args.out, exist_ok=True)
about = dict(
    d=args.d, heads=args.heads, encoder=args.encoder, decoder=args.decoder, keywords=head["keywords"], relations=RELATIONS, hidden=args.hide,
    kinds=head["kinds"], buckets=head["buckets"], bagScale=BAG_SCALE, pieces=head["pieces"],
    language=dict(d=net.language.d, heads=net.language.heads, layers=len(net.language.layers)), tensors=tensors,
)
file = write(os.path.join(args.out, "weights.bin"), about, file)
log("weights", len(file), "bytes")


@torch.no_grad()
def results(number):
    """What the network gives for one example."""
    b = data.batch(np.array([number]))
    memory = net.encode(b)[:, : int(data.n[number])]
    b["ok"], b["kinds"] = b["ok"][:, : memory.shape[1]], b["kinds"][:, : memory.shape[1]]
    y = b["target"][:, : int(data.m[number])]
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
with gzip.open(os.path.join(args.data, "golden.json.gz"), "rt") as f:
    examples = json.load(f)[: 3 if args.steps else None]
for e in examples:
    e.update(results(e["example"]))
with gzip.open(os.path.join(args.out, "golden.json.gz"), "wt") as f:
    json.dump(dict(weights=hashlib.sha256(file).hexdigest(), examples=examples), f)
log("goldens", len(examples))
