package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/oauth2"

	"parley/cmd/parley/internal/datadir"
	"parley/internal/baseurl"
)

// ErrEnded says that the authorization server does not renew the tokens any more.
var ErrEnded = errors.New("your sign-in has ended")

// Login has the tokens of a user for a server, in a file that only the user can read.
type Login struct {
	Server   string `json:"server"`
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	TokenURL string `json:"token_endpoint"`
	// RevokeURL is empty where tokens cannot be revoked.
	RevokeURL string `json:"revocation_endpoint,omitempty"`
	// WithID says that the server takes the ID token, not the access token.
	WithID  bool      `json:"with_id_token,omitempty"`
	Access  string    `json:"access_token"`
	ID      string    `json:"id_token,omitempty"`
	Refresh string    `json:"refresh_token,omitempty"`
	Expires time.Time `json:"expires_at,omitzero"`

	path string
}

// site returns the address of a server without the path of its interface.
func site(address string) string {
	return strings.TrimSuffix(strings.TrimRight(address, "/"), baseurl.Root)
}

// pathOf returns the file of the login to a server.
func pathOf(address string) (string, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for configuration: %w", err)
	}
	hash := sha256.Sum256([]byte(site(address)))
	return filepath.Join(config, "parley", "login-"+hex.EncodeToString(hash[:8])+".json"), nil
}

// Load returns the login to a server. The error is os.ErrNotExist if there is none.
func Load(address string) (*Login, error) {
	path, err := pathOf(address)
	if err != nil {
		return nil, os.ErrNotExist // there is no place for one
	}
	return read(path)
}

func read(path string) (*Login, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l := &Login{path: path}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return l, nil
}

// Save keeps the login for later commands.
func (l *Login) Save() (err error) {
	if l.path, err = pathOf(l.Server); err == nil {
		err = os.MkdirAll(filepath.Dir(l.path), 0o700)
	}
	if err == nil {
		err = l.write()
	}
	return err
}

func (l *Login) write() error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = datadir.WriteFile(l.path, text)
	}
	if err != nil {
		return fmt.Errorf("keep the tokens: %w", err)
	}
	return nil
}

// Remove forgets the login.
func (l *Login) Remove() error { return os.Remove(l.path) }

// Text returns the token that the server takes. It may have expired.
func (l *Login) Text() string {
	if l.WithID {
		return l.ID
	}
	return l.Access
}

// renewBefore is how long before its end a token is renewed.
const renewBefore = time.Minute

func (l *Login) fresh() bool {
	return l.Refresh == "" || l.Expires.IsZero() || time.Until(l.Expires) > renewBefore
}

// Token returns a token that is valid, renewed if needed. ErrEnded: the user must sign in again.
func (l *Login) Token(ctx context.Context) (string, error) {
	if l.fresh() {
		return l.Text(), nil
	}
	// A refresh token works once: one command at a time renews, and others take its result.
	lock := flock.New(l.path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return "", fmt.Errorf("renew the token: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	current, err := read(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrEnded // by a command
	}
	if err != nil {
		return "", err
	}
	if current.fresh() {
		*l = *current
		return l.Text(), nil
	}
	client := oauth2.Config{ClientID: l.ClientID, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	token, err := client.TokenSource(withClient(ctx), &oauth2.Token{RefreshToken: current.Refresh}).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.ErrorCode == "invalid_grant" {
		return "", errors.Join(ErrEnded, current.Remove())
	}
	if err != nil {
		return "", fmt.Errorf("renew the token at %s: %w", l.Issuer, err)
	}
	current.take(token)
	*l = *current
	return l.Text(), l.write()
}

// take notes the tokens of an answer.
func (l *Login) take(token *oauth2.Token) {
	l.Access, l.Refresh, l.Expires = token.AccessToken, token.RefreshToken, token.Expiry
	if id, ok := token.Extra("id_token").(string); ok {
		l.ID = id
	}
}
