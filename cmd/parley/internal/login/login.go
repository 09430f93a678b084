// Package login signs the user of the command line in at the authorization server of a
// Parley server, by OAuth 2.1, and keeps the tokens.
package login

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

const (
	// userTime is how long the user may take.
	userTime = 10 * time.Minute
	// answerTime limits a request, maxDocument a document, in bytes.
	answerTime  = 30 * time.Second
	maxDocument = 1 << 20

	callbackPath = "/callback"
)

// client follows no redirect: what is sent is for one server.
var client = &http.Client{Timeout: answerTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, client)
}

// ErrNone says that a server has no sign-in.
var ErrNone = errors.New("this server has no sign-in: make a token with `parley token USER` in its data folder, and set PARLEY_TOKEN to it")

// server is an authorization server.
type server struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Device        string   `json:"device_authorization_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	// NamesIssuer says that the answer to an authorization names the issuer.
	NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
}

// Flow is a sign-in in progress.
type Flow struct {
	client oauth2.Config
	server server
	site   string
}

// Begin finds the authorization server of a Parley server. clientID is what the command is
// registered as at an identity provider; Parley itself registers it.
func Begin(ctx context.Context, address, clientID string) (*Flow, error) {
	f := &Flow{site: site(address)}
	var resource struct {
		Servers []string `json:"authorization_servers"`
	}
	err := get(ctx, f.site+"/.well-known/oauth-protected-resource", &resource)
	if errors.Is(err, errAbsent) || err == nil && len(resource.Servers) == 0 {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	issuer := resource.Servers[0]
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s names no authorization server, but %q", f.site, issuer)
	}
	root := *u
	root.Path = ""
	for _, where := range []string{root.String() + "/.well-known/oauth-authorization-server" + u.Path, strings.TrimRight(issuer, "/") + "/.well-known/openid-configuration"} {
		if err = get(ctx, where, &f.server); !errors.Is(err, errAbsent) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read about the authorization server %s: %w", issuer, err)
	}
	if strings.TrimRight(f.server.Issuer, "/") != strings.TrimRight(issuer, "/") {
		return nil, fmt.Errorf("the authorization server %s calls itself %s", issuer, f.server.Issuer)
	}
	for _, endpoint := range []string{f.server.Authorization, f.server.Token, f.server.Device, f.server.Registration, f.server.Revocation} {
		if err := checkAddress(endpoint); endpoint != "" && err != nil {
			return nil, err
		}
	}
	f.client = oauth2.Config{ClientID: clientID, Endpoint: oauth2.Endpoint{
		AuthURL: f.server.Authorization, TokenURL: f.server.Token, DeviceAuthURL: f.server.Device, AuthStyle: oauth2.AuthStyleInParams,
	}}
	for _, scope := range []string{"openid", "profile", "groups", "offline_access"} {
		if slices.Contains(f.server.Scopes, scope) {
			f.client.Scopes = append(f.client.Scopes, scope)
		}
	}
	if strings.TrimRight(issuer, "/") == f.site {
		return f, f.register(ctx)
	}
	return f, nil
}

// errAbsent says that there is no document at an address.
var errAbsent = errors.New("not found")

// get reads a JSON document.
func get(ctx context.Context, address string, into any) error {
	if err := checkAddress(address); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	return do(request, into)
}

func do(request *http.Request, into any) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument))
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", request.URL, err)
	case response.StatusCode == http.StatusNotFound:
		return errAbsent
	case response.StatusCode/100 != 2:
		return fmt.Errorf("%s answers %s", request.URL, response.Status)
	case into != nil && json.Unmarshal(text, into) != nil:
		return fmt.Errorf("%s does not answer with JSON", request.URL)
	}
	return nil
}

// checkAddress refuses an address to which secrets would travel in the clear.
func checkAddress(text string) error {
	u, err := url.Parse(text)
	if err == nil && u.Host != "" && u.User == nil {
		ip := net.ParseIP(u.Hostname())
		if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
			return nil
		}
	}
	return fmt.Errorf("%q must be an https address, or one of this machine, for a sign-in", text)
}

// register gives the command an id at Parley's own authorization server.
func (f *Flow) register(ctx context.Context) error {
	body, err := json.Marshal(map[string]any{"client_name": "parley on the command line", "redirect_uris": []string{"http://127.0.0.1" + callbackPath}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.server.Registration, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	var registered struct {
		ID string `json:"client_id"`
	}
	if err = do(request, &registered); err == nil {
		f.client.ClientID = registered.ID
	}
	return err
}

// Browser signs the user in by a browser. show is called with the address to open. The browser ends
// at this process, or at an address that is pasted here, if it runs on another machine.
func (f *Flow) Browser(ctx context.Context, show func(address string), pasted <-chan string) (*Login, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	f.client.RedirectURL = "http://" + listener.Addr().String() + callbackPath
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	answers := make(chan url.Values)
	ctx, cancel := context.WithTimeoutCause(ctx, userTime, errors.New("nobody has signed in for too long"))
	defer cancel()
	at := &http.Server{ReadHeaderTimeout: answerTime, Handler: callback(ctx, state, answers)}
	go func() { _ = at.Serve(listener) }() // until it is closed
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = at.Shutdown(ctx) // the browser gets its answer
	}()
	show(f.client.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)))
	for {
		var answer url.Values
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case answer = <-answers:
		case line, ok := <-pasted:
			if !ok {
				pasted = nil
			}
			u, err := url.Parse(strings.TrimSpace(line))
			if err != nil || subtle.ConstantTimeCompare([]byte(u.Query().Get("state")), []byte(state)) != 1 {
				continue
			}
			answer = u.Query()
		}
		if iss := answer.Get("iss"); iss != f.server.Issuer && (iss != "" || f.server.NamesIssuer) {
			return nil, fmt.Errorf("the answer is of %q, not of %s", iss, f.server.Issuer)
		}
		if code := answer.Get("error"); code != "" {
			return nil, fmt.Errorf("%s does not sign you in: %s", f.server.Issuer, cmp.Or(answer.Get("error_description"), code))
		}
		token, err := f.client.Exchange(withClient(ctx), answer.Get("code"), oauth2.VerifierOption(verifier))
		if err != nil {
			return nil, fmt.Errorf("sign in at %s: %w", f.server.Issuer, err)
		}
		return f.login(token), nil
	}
}

// callback takes the answer that has the state, once.
func callback(ctx context.Context, state string, answers chan<- url.Values) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		values := r.URL.Query()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if subtle.ConstantTimeCompare([]byte(values.Get("state")), []byte(state)) != 1 {
			http.Error(w, "This belongs to another sign-in.", http.StatusBadRequest)
			return
		}
		select {
		case <-ctx.Done():
		case answers <- values:
		}
		_, _ = io.WriteString(w, "You can close this window and go back to the command line.\n")
	})
	return mux
}

// Device signs the user in by a browser on any machine: show is called with the address to open
// there, and the code to enter.
func (f *Flow) Device(ctx context.Context, show func(address, code string)) (*Login, error) {
	if f.server.Device == "" {
		return nil, fmt.Errorf("%s has no sign-in by a code: leave --device out", f.server.Issuer)
	}
	ctx, cancel := context.WithTimeoutCause(withClient(ctx), userTime, errors.New("nobody has signed in for too long"))
	defer cancel()
	verifier := oauth2.GenerateVerifier()
	device, err := f.client.DeviceAuth(ctx, oauth2.S256ChallengeOption(verifier))
	if err != nil {
		return nil, fmt.Errorf("sign in at %s: %w", f.server.Issuer, err)
	}
	show(device.VerificationURI, device.UserCode)
	token, err := f.client.DeviceAccessToken(ctx, device, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, fmt.Errorf("sign in at %s: %w", f.server.Issuer, err)
	}
	return f.login(token), nil
}

func (f *Flow) login(token *oauth2.Token) *Login {
	l := &Login{Server: f.site, Issuer: f.server.Issuer, ClientID: f.client.ClientID, TokenURL: f.server.Token, RevokeURL: f.server.Revocation}
	l.take(token)
	return l
}

// Revoke ends the tokens at the authorization server, where it can.
func (l *Login) Revoke(ctx context.Context) error {
	if l.RevokeURL == "" {
		return nil
	}
	form := url.Values{"token": {cmp.Or(l.Refresh, l.Access)}, "client_id": {l.ClientID}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if err := do(request, nil); err != nil {
		return fmt.Errorf("end the sign-in at %s: %w", l.Issuer, err)
	}
	return nil
}
