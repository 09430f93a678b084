# Runs one PostgreSQL cluster for as long as standard input stays open.
#
# Standard input is a pipe whose other end only the test process holds, so the
# kernel closes it when that process ends, whatever ended it. Standard output
# carries the log to the test process when the cluster does not come up. To
# unpack, descriptor 3 is the archive of a new cluster.

bin=$1 dir=$2 locale=$3 port=$4 archive=$5
shift 5 # what is left are settings
exec 4<&0 </dev/null

end() {
	cat "$dir/log"
	cd /
	rm -rf "$dir"
	exit "$1"
}

if [ "$archive" = unpack ]; then
	if ! tar -x -p -f - -C "$dir" <&3 2>"$dir/log" || [ ! -e "$dir/whole" ]; then
		touch "$dir/damaged"
		rm -rf "$dir/data"
	fi
	exec 3<&-
fi
if [ ! -e "$dir/data" ]; then
	"$bin/initdb" --pgdata="$dir/data" --username=parley --auth=trust \
		--encoding=UTF8 --locale="$locale" --no-sync >"$dir/log" 2>&1 || end 1
fi
if [ "$archive" = pack ]; then
	touch "$dir/whole" # the last in the archive
	tar -c -f "$dir/initdb.tar" -C "$dir" data whole 2>/dev/null || rm -f "$dir/initdb.tar"
fi

run() { # with settings
	"$bin/postgres" -D "$dir/data" -k "$dir" -p "$port" -c listen_addresses= \
		-c fsync=off -c synchronous_commit=off -c full_page_writes=off \
		-c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=128MB \
		-c autovacuum=off -c shared_buffers=32MB -c max_connections=200 -c timezone=UTC "$@" >"$dir/log" 2>&1 &
	postgres=$!
	echo "$postgres" >"$dir/pid"
}
run "$@"

# SIGQUIT makes postgres drop everything at once, but the shell starts background
# commands with it ignored: one sent before postgres listens for it is lost.
{
	read -r _
	touch "$dir/over"
	while kill -QUIT "$(cat "$dir/pid")"; do sleep 1; done
} <&4 >/dev/null 2>&1 &
watcher=$!

wait "$postgres"
# One that a test has stopped, which waits until that is seen here, starts again when
# the test says so.
while [ -e "$dir/stopped" ] && [ ! -e "$dir/over" ]; do
	touch "$dir/down"
	sleep 0.02
	[ -e "$dir/stopped" ] || { rm "$dir/down"; run "$@"; wait "$postgres"; }
done
kill "$watcher" 2>/dev/null
end 1
