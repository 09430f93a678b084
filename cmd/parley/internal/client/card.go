package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"parley/cards"
	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// Card is `parley card verify URL`.
type Card struct {
	Action string `arg:"" enum:"verify" help:"The action: verify."`
	URL    string `arg:"" name:"url" help:"The address of the card, or of the agent or host that has it at /.well-known/agent-card.json."`
	Keys   string `env:"-" placeholder:"URL|FILE" help:"An address or a file with the keys, instead of the address in the card, which must be on the same host."`
	JSON   bool   `env:"-" name:"json" help:"Print JSON."`
	connectionSettings
}

// Errors of a card that is not verified.
var (
	errUnsigned   = errors.New("it has no signatures")
	errUnverified = errors.New("no signature of it verifies")
)

// signatureReport says what became of a signature.
type signatureReport struct {
	Verified  bool   `json:"verified"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Keys      string `json:"keys"`
	Form      string `json:"form,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// Run verifies the signatures of a card. It fails when none does.
func (c *Card) Run(ctx context.Context, env command.Env) error {
	check := env.NewChecker()
	c.connectionSettings.check(check)
	address := cardAddress(c.URL)
	if address == nil {
		check.Add("URL must be an http or https address, not " + fmt.Sprintf("%q", c.URL))
	}
	if err := check.Err(); err != nil {
		return err
	}
	document, err := c.fetchCard(ctx, address)
	if err != nil {
		return err
	}
	card, err := cards.ReadSigned(document)
	if err != nil {
		return fmt.Errorf("read the card at %s: %w", address, err)
	}
	reports, failed := verifySignatures(ctx, card, c.Keys, address)
	if err := writeReports(env, address, reports, c.JSON); err != nil {
		return err
	}
	return failed
}

// verifySignatures verifies what is at an address, with keys of the same host or those in only. It fails
// when no signature verifies.
func verifySignatures(ctx context.Context, card cards.SignedCard, only string, address *url.URL) (reports []signatureReport, failed error) {
	keys := keySource{only: only, card: address, read: map[string]keyAnswer{}}
	reports, failed = []signatureReport{}, errUnsigned
	for _, signature := range card.Signatures {
		report := verifySignature(ctx, card, signature, &keys)
		reports = append(reports, report)
		switch {
		case report.Verified:
			failed = nil
		case failed != nil:
			failed = errUnverified
		}
	}
	return reports, failed
}

// cardAddress returns where a card is; nil for what is no address.
func cardAddress(text string) *url.URL {
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || address.User != nil {
		return nil
	}
	if !strings.HasSuffix(address.Path, ".json") {
		address = address.JoinPath(".well-known", "agent-card.json")
	}
	return address
}

// fetchCard reads the card. The token is for the server that was set, and goes nowhere else.
func (c *Card) fetchCard(ctx context.Context, address *url.URL) ([]byte, error) {
	token := ""
	if server, err := url.Parse(c.Server); err == nil && origin(server) == origin(address) {
		if token, err = c.token(ctx); err != nil {
			return nil, err
		}
	}
	document, err := apiclient.Fetch(ctx, address.String(), token)
	if apiclient.Status(err) == http.StatusNotFound {
		return nil, command.NotFoundError("there is no card at " + address.String())
	}
	if err != nil {
		return nil, fmt.Errorf("read the card at %s: %w", address, err)
	}
	return document, nil
}

func verifySignature(ctx context.Context, card cards.SignedCard, signature cards.Signature, keys *keySource) signatureReport {
	report := signatureReport{Algorithm: signature.Algorithm, KeyID: signature.KeyID}
	var set cards.JWKSet
	var err error
	if set, report.Keys, err = keys.of(ctx, signature); err == nil {
		var form cards.Form
		form, err = card.Verify(signature, set)
		report.Verified, report.Form = err == nil, string(form)
	}
	if err != nil {
		report.Reason = err.Error()
	}
	return report
}

// keySource finds the keys of signatures.
type keySource struct {
	only string // where all keys are, "" for where signatures say
	card *url.URL
	read map[string]keyAnswer
}

type keyAnswer struct {
	set cards.JWKSet
	err error
}

// of returns the keys of a signature, and where they are.
func (k *keySource) of(ctx context.Context, signature cards.Signature) (cards.JWKSet, string, error) {
	where := k.only
	if where == "" {
		where = signature.KeysURL
		address, err := url.Parse(where)
		switch {
		case where == "":
			return cards.JWKSet{}, where, errors.New("it has no address of its key; use --keys")
		case err != nil || origin(address) != origin(k.card):
			// Who forges a card signs it with a key of their own.
			return cards.JWKSet{}, where, errors.New("its key is not on the host of the card; use --keys if you trust that key")
		}
	}
	answer, ok := k.read[where]
	if !ok {
		answer.set, answer.err = readKeys(ctx, where)
		k.read[where] = answer
	}
	return answer.set, where, answer.err
}

func readKeys(ctx context.Context, where string) (set cards.JWKSet, err error) {
	var text []byte
	if strings.HasPrefix(where, "http://") || strings.HasPrefix(where, "https://") {
		text, err = apiclient.Fetch(ctx, where, "")
	} else {
		text, err = os.ReadFile(where)
	}
	if err == nil && json.Unmarshal(text, &set) != nil {
		err = errors.New("the document is not a JWK Set")
	}
	if err != nil {
		return set, fmt.Errorf("read the keys: %w", err)
	}
	return set, nil
}

// origin returns scheme, host and port of an address.
func origin(address *url.URL) string {
	port := address.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[address.Scheme]
	}
	return address.Scheme + "://" + strings.ToLower(address.Hostname()) + ":" + port
}

// formWords say what of a card a signature covers.
var formWords = map[string]string{
	string(cards.FormStandard): "the card",
	string(cards.FormSDK):      "the card without its empty fields",
	string(cards.FormDocument): "the card as it is",
}

func writeReports(env command.Env, address *url.URL, reports []signatureReport, asJSON bool) error {
	if asJSON {
		return writeJSON(env.Stdout, map[string]any{"card": address.String(), "signatures": reports})
	}
	style := console.StyleOf(env.Stdout)
	for _, r := range reports {
		about := fmt.Sprintf("%s, key %s at %s", console.Line(r.Algorithm), console.Line(r.KeyID), console.Line(r.Keys))
		line := fmt.Sprintf("%s: %s\n  %s", style.Bold("not verified"), console.Line(r.Reason), style.Dim(about))
		if r.Verified {
			line = fmt.Sprintf("%s: %s\n  %s", style.Bold("verified"), formWords[r.Form], style.Dim(about))
		}
		if _, err := fmt.Fprintln(env.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}
