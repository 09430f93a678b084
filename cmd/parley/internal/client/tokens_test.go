package client

import (
	"testing"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// TestTokenOnly has --only read what the list of tokens prints.
func TestTokenOnly(t *testing.T) {
	t.Parallel()
	alice := tokenUser{Subject: "alice"}
	for _, test := range []struct {
		target tokenTarget
		want   string
	}{
		{tokenTarget{"alice", "shop", ""}, "shop"},
		{tokenTarget{"alice", "shop", "orders"}, "shop/orders"},
		{tokenTarget{"bob", "lab", ""}, "bob/lab/"},
		{tokenTarget{"bob", "lab", "mice"}, "bob/lab/mice"},
	} {
		got := tokenEntry{RestrictedTo: []tokenTarget{test.target}}.only(alice)
		c := new(command.Checker)
		read := readTarget(c, got)
		if read.Username == "self" {
			read.Username = "alice"
		}
		if got != test.want || read != test.target || c.Err() != nil {
			t.Errorf("%+v is %q, read as %+v, %v", test.target, got, read, c.Err())
		}
	}
	if got := (tokenEntry{}).only(alice); got != console.None {
		t.Errorf("no restriction: %q", got)
	}
	if got := (tokenEntry{RestrictedTo: []tokenTarget{}}).only(alice); got != "(nothing that exists)" {
		t.Errorf("all is deleted: %q", got)
	}
}
