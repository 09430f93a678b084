package seal_test

import (
	"bytes"
	"errors"
	"testing"

	"parley/internal/seal"
)

func newBox(t *testing.T, purpose string, secrets ...string) *seal.Box {
	t.Helper()
	var keys [][]byte
	for _, secret := range secrets {
		keys = append(keys, []byte(secret))
	}
	box, err := seal.New(purpose, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestSeal(t *testing.T) {
	t.Parallel()
	text, context := []byte("the secret"), []byte("alice/config-1")
	box := newBox(t, "push", "one")
	sealed := box.Seal(text, context)
	if bytes.Contains(sealed, text) || bytes.Equal(sealed, box.Seal(text, context)) {
		t.Errorf("sealed is %q", sealed)
	}
	if opened, err := box.Open(sealed, context); err != nil || !bytes.Equal(opened, text) {
		t.Errorf("opened is %q, %v", opened, err)
	}
	if opened, err := newBox(t, "push", "two", "one").Open(sealed, context); err != nil || !bytes.Equal(opened, text) {
		t.Errorf("with a later key: %q, %v", opened, err)
	}
	for name, other := range map[string]*seal.Box{"other key": newBox(t, "push", "two"), "other purpose": newBox(t, "pull", "one")} {
		if _, err := other.Open(sealed, context); !errors.Is(err, seal.ErrUnknownKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := box.Open(sealed, []byte("bob/config-1")); err == nil {
		t.Error("it opens in another context")
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := box.Open(changed, context); err == nil {
			t.Errorf("it opens with byte %d changed", i)
		}
		if _, err := box.Open(sealed[:i], context); err == nil {
			t.Errorf("%d bytes of it open", i)
		}
	}
	if _, err := seal.New("push"); err == nil {
		t.Error("a box without a key")
	}
}
