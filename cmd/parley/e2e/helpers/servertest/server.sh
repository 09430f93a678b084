# Runs one server for as long as standard input stays open.
#
# Standard input is a pipe whose other end only the test process holds, so the
# kernel closes it when that process ends, whatever ended it. Standard output
# carries the log to the test process when the server does not come up.

dir=$1
shift
exec 3<&0 </dev/null

"$@" 3<&- >"$dir/log" 2>&1 &
server=$!

{
	read -r _
	kill -KILL "$server"
} <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-

wait "$server"
kill "$watcher" 2>/dev/null
cat "$dir/log"
cd /
rm -rf "$dir"
