package objects

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"parley/internal/domain"
)

// maxQuery is longer than any query that grant.query makes.
const maxQuery = 4096

// grant is the right to send one part to a folder.
type grant struct {
	upload  Upload
	number  int
	size    int64
	expires int64 // seconds since 1970
	userTag string
}

// userTag returns a pseudonym of a user, by whom parts are queued, for addresses that
// others may see.
func userTag(secret []byte, user string) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "parley turn 1\n%s", user)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12])
}

// sign returns the signature of a grant for a method. No field can hold a line break, so
// no two grants have the same text.
func (g grant) sign(secret []byte, method string) []byte {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "parley part 2\n%s\n%s\n%s\n%d\n%d\n%d\n%s", method, g.upload.Key, g.upload.ID, g.number, g.size, g.expires, g.userTag)
	return mac.Sum(nil)
}

// query encodes a grant. "turn" is the name of the user tag in addresses in use.
func (g grant) query(signature []byte) string {
	return url.Values{
		"key":        {g.upload.Key},
		"uploadId":   {g.upload.ID},
		"partNumber": {strconv.Itoa(g.number)},
		"size":       {strconv.FormatInt(g.size, 10)},
		"expires":    {strconv.FormatInt(g.expires, 10)},
		"turn":       {g.userTag},
		"signature":  {base64.RawURLEncoding.EncodeToString(signature)},
	}.Encode()
}

// verify reads a grant for a method from a query. ErrForbidden when it was not signed
// with the secret, or has expired.
func verify(secret []byte, method, rawQuery string, now time.Time) (grant, error) {
	g, signature, ok := parseGrant(rawQuery)
	// The signature is checked first: the answer and its time do not tell what was wrong.
	if !ok || !hmac.Equal(signature, g.sign(secret, method)) {
		return grant{}, domain.Errorf(domain.ErrForbidden, "this is not an address that a part may be sent to")
	}
	if !now.Before(time.Unix(g.expires, 0)) {
		return grant{}, domain.Errorf(domain.ErrForbidden, "this address has expired; ask for a new one")
	}
	return g, nil
}

// parseGrant reads exactly what query writes.
func parseGrant(rawQuery string) (g grant, signature []byte, ok bool) {
	if len(rawQuery) > maxQuery {
		return grant{}, nil, false
	}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return grant{}, nil, false
	}
	ok = true
	text := func(name string) string {
		if len(values[name]) != 1 {
			ok = false
			return ""
		}
		return values[name][0]
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(text(name), 10, 64)
		if err != nil || n <= 0 || strconv.FormatInt(n, 10) != text(name) {
			ok = false
		}
		return n
	}
	g = grant{
		upload:  Upload{Key: text("key"), ID: text("uploadId")},
		number:  int(number("partNumber")),
		size:    number("size"),
		expires: number("expires"),
		userTag: text("turn"),
	}
	signature, err = base64.RawURLEncoding.Strict().DecodeString(text("signature"))
	ok = ok && err == nil && checkUpload(g.upload) == nil && g.number <= domain.MaxParts
	return g, signature, ok
}
