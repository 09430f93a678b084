package e2etest

import (
	"encoding/json"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"

	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/s3test"
)

// Fleet is several servers on one database and one bucket.
type Fleet struct {
	T       testing.TB
	Cluster *pgtest.Cluster
	Env     []string
	args    []string
	dirs    []string
	Now     []atomic.Pointer[Process]
	Token   string

	mu   sync.Mutex
	Logs []*logtest.Buffer
}

// FleetSecret signs the tokens of a fleet.
const FleetSecret = "a shared secret, known to all the servers of a fleet"

// StartFleet starts a number of servers.
func StartFleet(t *testing.T, count int, args ...string) *Fleet {
	t.Helper()
	cluster := pgtest.Private(t)
	endpoint, access, secret := s3test.Server(t)
	r := &Fleet{T: t, Cluster: cluster, args: args, Now: make([]atomic.Pointer[Process], count), Env: []string{
		"PARLEY_DATABASE_URL=" + cluster.URL(),
		"PARLEY_OBJECTS=s3://" + s3test.Bucket(t) + "/parley?endpoint=" + endpoint + "&region=" + s3test.Region + "&path_style=true",
		"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret,
		"PARLEY_AUTH_SECRET=" + FleetSecret, ShortLease,
	}}
	for i := range count {
		r.dirs = append(r.dirs, t.TempDir())
		r.Start(i)
	}
	r.Token = r.Any().Token("alice")
	return r
}

// Start starts a server, also after it has ended.
func (r *Fleet) Start(i int) {
	r.T.Helper()
	p := Serve(r.T, r.dirs[i], r.Env, r.args...)
	r.mu.Lock()
	r.Logs = append(r.Logs, p.Log)
	r.mu.Unlock()
	r.Now[i].Store(p)
}

// Any returns a random server.
func (r *Fleet) Any() *Process { return r.Now[rand.IntN(len(r.Now))].Load() }

// Limits is the variable that changes limits of a server, by the names that serve has for
// them.
func Limits(limits Object) string {
	text, err := json.Marshal(limits)
	if err != nil {
		panic(err)
	}
	return "RUN_WITH_LIMITS=" + string(text)
}

// ShortLease is the variable of a lease of less than half the default. It is long enough
// for a busy machine, on which a running process must not lose its runs.
var ShortLease = Limits(Object{"HostLease": 6 * time.Second})

// ClockFile is the variable of the file with the offset of a process's clock.
const ClockFile = "RUN_WITH_CLOCK"

// Heartbeats waits until every host has renewed its lease a number of times.
func Heartbeats(t *testing.T, driver, source string, count int) {
	t.Helper()
	db, err := sqlx.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	type lease struct {
		Name  string `db:"name"`
		Until int64  `db:"expires_at"`
	}
	last, beats := map[string]int64{}, map[string]int{}
	Eventually(t, func() bool {
		var leases []lease
		if err := db.Select(&leases, `SELECT name, expires_at FROM leases WHERE name LIKE 'host/%'`); err != nil {
			t.Fatal(err)
		}
		all := len(leases) > 0
		for _, l := range leases {
			if was, seen := last[l.Name]; seen && was != l.Until {
				beats[l.Name]++
			}
			last[l.Name] = l.Until
			all = all && beats[l.Name] >= count
		}
		return all
	})
}
