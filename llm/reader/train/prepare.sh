#!/usr/bin/env bash
# Writes the tensors that train.py reads, into OUT/features.
#
#   prepare.sh SPIDER_QUESTIONS SPIDER WTQ OUT
#
# SPIDER_QUESTIONS is a file of questions with SQL (a JSON object a line: db, question, sql),
# SPIDER and WTQ are folders with DB/tables/*.csv and DB/questions.jsonl. SPIDER/DB/links.json may declare
# links. The project's own questions are in data/own.tar.gz and data/public.tar.gz; sets of the latter
# without tables are left out. OUT/pieces.txt is from pretrained.py.
set -euo pipefail
spider_questions=$(realpath "$1") spider=$(realpath "$2") wtq=$(realpath "$3")
mkdir -p "$4/data" "$4/bin"
out=$(realpath "$4")
cd "$(dirname "$0")"
go build -o "$out/bin/" ./convert ./measure ./export

mkdir -p "$out/own"
tar xzf data/own.tar.gz -C "$out/own"
for author in "$out"/own/*; do
	name=$(basename "$author")
	mkdir -p "$out/data/own"
	cp -r "$author" "$out/data/own/$name"
	"$out/bin/convert" suite "own/$name" "$author" >"$out/data/$name.jsonl"
done
tar xzf data/public.tar.gz -C "$out/data"
for set in "$out"/data/public/*; do
	[ -d "$set/tables" ] || rm -r "$set"
done
"$out/bin/convert" links public "$out/data/public"
"$out/bin/convert" suite public "$out/data/public" >"$out/data/public.jsonl"
cp -r "$spider" "$out/data/spider"
chmod -R u+w "$out/data/spider"
"$out/bin/convert" links spider "$out/data/spider"
"$out/bin/convert" spider "$spider_questions" "$out/data/spider" >"$out/data/spider.jsonl"
# These have answers and no queries: what the last network reads right is trained on.
cp -r "$wtq" "$out/data/wtq"
EXAMPLES="$out/data/wtq.jsonl" "$out/bin/measure" ../weights.bin train "$wtq=wtq"
chmod -R u+w "$out/data"
"$out/bin/export" "$out/data" "$out/pieces.txt" "$out/features"
