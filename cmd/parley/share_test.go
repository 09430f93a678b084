package main

import (
	"strings"
	"testing"
)

// TestShare shares a dataset, as viewer and as editor, and takes it back: what the
// other user can do with it follows.
func TestShare(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("good.csv", "id\n1\n")
	i.run(exitOK, "ingest", "good.csv", "--dataset", "shop/big")
	alice, bob := i.env, i.as("bob")
	say := func(code int, want string, args ...string) {
		t.Helper()
		if got := i.run(code, args...); !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("parley %s: no %q in:\n%s%s", strings.Join(args, " "), want, got.stdout, got.stderr)
		}
	}
	say(exitOK, "shop is shared with nobody", "share", "shop")
	say(exitOK, "bob can read shop/big now", "share", "shop/big", "Bob")
	i.env = bob
	say(exitOK, "shop       big   alice", "datasets")
	say(exitOK, "shop       big   alice", "datasets", "alice/shop")
	say(exitOK, "alice/shop/big: 1 row, 1 column", "datasets", "alice/shop/big")
	i.parts.forget()
	say(exitFailed, "parley share shop/big YOU --role editor", "ingest", "good.csv", "--dataset", "alice/shop/big")
	if stored, _ := i.parts.now(); len(stored) > 0 {
		t.Errorf("a viewer sent %d parts", len(stored))
	}
	say(exitNotFound, "parley datasets", "share", "shop", "carol")
	i.env = alice
	say(exitOK, "bob can read and change shop now", "share", "shop", "bob", "--role", "editor")
	say(exitOK, "bob   editor", "share", "shop")
	say(exitOK, `[{"username":"bob","role":"viewer"}]`, "share", "shop/big", "--json")
	i.env = bob
	say(exitOK, "alice/shop/big: 2 rows", "ingest", "good.csv", "--dataset", "alice/shop/big")
	i.env = alice
	say(exitOK, "taken back", "share", "shop", "bob", "--revoke")
	say(exitOK, "taken back", "share", "shop/big", "bob", "--revoke")
	say(exitNotFound, "nothing here is shared with that user", "share", "shop/big", "bob", "--revoke")
	say(exitUsage, "needs a USER", "share", "shop/big", "--revoke")
	say(exitUsage, "viewer or editor", "share", "shop/big", "bob", "--role", "king")
	say(exitUsage, "NAMESPACE/NAME", "share", "shop/big/more", "bob")
	say(exitOK, "alice", "datasets", "shop")
	say(exitNotFound, "for your namespace: `parley share shop`", "share", "alice/shop", "bob")
	say(exitOK, "bob can read shop/big now", "share", "Alice/shop/big", "bob")
	say(exitOK, "taken back", "share", "alice/shop/big", "bob", "--revoke")
	say(exitUsage, "NAMESPACE/NAME", "share", "bob/shop/big", "carol")
	if got := i.run(exitFailed, "share", "shop", "alice"); strings.Count(got.stderr, "must be another user") != 1 {
		t.Errorf("shared with oneself: %s", got.stderr)
	}
	say(exitUsage, "no name after the /", "share", "shop/", "bob")
	say(exitUsage, "must be NAMESPACE/NAME", "ingest", "good.csv", "--dataset", "shop/")
	say(exitUsage, "must be NAMESPACE/NAME", "ingest", "good.csv", "--dataset", "alice/shop/")
	i.env = bob
	say(exitOK, "There are no datasets", "datasets")
	say(exitNotFound, "look for alice/shop", "datasets", "alice/shop")
	say(exitUsage, "OWNER/NAMESPACE", "datasets", "a/b/c/d")
	say(exitUsage, "'or ders'", "datasets", "shop/or ders")
	say(exitUsage, "has the owner 'a b'", "datasets", "a b/c")
	say(exitUsage, "has the owner 'a b'", "datasets", "a b/c/d")
	say(exitUsage, "has the owner 'a b'", "ingest", "good.csv", "--dataset", "a b/c/d")
	say(exitNotFound, "look for a@b.c/shop", "datasets", "a@b.c/shop") // a user's name, and no namespace's
}
