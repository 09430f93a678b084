package cli

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestShare shares a dataset, as viewer and as editor, and takes it back: what the
// other user can do with it follows.
func TestShare(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("good.csv", "id\n1\n")
	i.run(e2etest.ExitOK, "ingest", "good.csv", "--dataset", "shop/big")
	alice, bob := i.env, i.as("bob")
	say := func(code int, want string, args ...string) {
		t.Helper()
		if got := i.run(code, args...); !strings.Contains(got.Stdout+got.Stderr, want) {
			t.Errorf("parley %s: no %q in:\n%s%s", strings.Join(args, " "), want, got.Stdout, got.Stderr)
		}
	}
	say(e2etest.ExitOK, "shop is shared with nobody", "share", "shop")
	say(e2etest.ExitOK, "bob can read shop/big now", "share", "shop/big", "Bob")
	say(e2etest.ExitOK, "user  role    dataset\n----  ------  -------\nbob   viewer  big\n", "share", "shop")
	i.env = bob
	say(e2etest.ExitOK, "shop       big      1  alice", "datasets")
	say(e2etest.ExitOK, "shop       big      1  alice", "datasets", "alice/shop")
	say(e2etest.ExitOK, "alice/shop/big: 1 row, 1 column", "datasets", "alice/shop/big")
	i.parts.forget()
	say(e2etest.ExitFailed, "parley share shop/big YOU --role editor", "ingest", "good.csv", "--dataset", "alice/shop/big")
	if stored, _ := i.parts.now(); len(stored) > 0 {
		t.Errorf("a viewer sent %d parts", len(stored))
	}
	say(e2etest.ExitNotFound, "parley datasets", "share", "shop", "carol")
	i.env = alice
	say(e2etest.ExitOK, "bob can read and change shop now", "share", "shop", "bob", "--role", "editor")
	say(e2etest.ExitOK, "bob   editor  —\nbob   viewer  big\n", "share", "shop")
	say(e2etest.ExitOK, `[{"username":"bob","role":"editor"},{"username":"bob","role":"viewer","dataset":"big"}]`, "share", "shop", "--json")
	say(e2etest.ExitOK, "user,role\nbob,viewer\n", "share", "shop/big", "-f", "csv")
	say(e2etest.ExitOK, `[{"username":"bob","role":"viewer"}]`, "share", "shop/big", "--json")
	i.env = bob
	say(e2etest.ExitOK, "alice/shop/big: 2 rows", "ingest", "good.csv", "--dataset", "alice/shop/big")
	i.env = alice
	say(e2etest.ExitOK, "taken back", "share", "shop", "bob", "--revoke")
	say(e2etest.ExitOK, "taken back", "share", "shop/big", "bob", "--revoke")
	say(e2etest.ExitNotFound, "shop/big is not shared with bob; `parley share shop/big` lists its shares", "share", "shop/big", "bob", "--revoke")
	say(e2etest.ExitUsage, "USER", "share", "shop/big", "")
	say(e2etest.ExitUsage, "needs a USER", "share", "shop/big", "--revoke")
	say(e2etest.ExitUsage, "viewer or editor", "share", "shop/big", "bob", "--role", "king")
	say(e2etest.ExitUsage, "NAMESPACE/NAME", "share", "shop/big/more", "bob")
	say(e2etest.ExitOK, "alice", "datasets", "shop")
	say(e2etest.ExitNotFound, "for your namespace: `parley share shop`", "share", "alice/shop", "bob")
	say(e2etest.ExitOK, "bob can read shop/big now", "share", "Alice/shop/big", "bob")
	say(e2etest.ExitOK, "taken back", "share", "alice/shop/big", "bob", "--revoke")
	say(e2etest.ExitUsage, "NAMESPACE/NAME", "share", "bob/shop/big", "carol")
	if got := i.run(e2etest.ExitFailed, "share", "shop", "alice"); strings.Count(got.Stderr, "must be another user") != 1 {
		t.Errorf("shared with oneself: %s", got.Stderr)
	}
	say(e2etest.ExitUsage, "no name after the /", "share", "shop/", "bob")
	say(e2etest.ExitUsage, "must be NAMESPACE/NAME", "ingest", "good.csv", "--dataset", "shop/")
	say(e2etest.ExitUsage, "must be NAMESPACE/NAME", "ingest", "good.csv", "--dataset", "alice/shop/")
	i.env = bob
	say(e2etest.ExitOK, "There are no datasets", "datasets")
	say(e2etest.ExitNotFound, "look for alice/shop", "datasets", "alice/shop")
	say(e2etest.ExitUsage, "OWNER/NAMESPACE", "datasets", "a/b/c/d")
	say(e2etest.ExitUsage, "'or ders'", "datasets", "shop/or ders")
	say(e2etest.ExitUsage, "has the owner 'a b'", "datasets", "a b/c")
	say(e2etest.ExitUsage, "has the owner 'a b'", "datasets", "a b/c/d")
	say(e2etest.ExitUsage, "has the owner 'a b'", "ingest", "good.csv", "--dataset", "a b/c/d")
	say(e2etest.ExitNotFound, "look for a@b.c/shop", "datasets", "a@b.c/shop") // a user's name, and no namespace's
}
