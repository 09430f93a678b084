package objects

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"parley/storage"
)

const (
	// turnBytes tell users apart.
	turnBytes = 12
	maxTurn   = turnBytes * 4 / 3
)

// maxQuery is longer than any query that grant.query makes.
const maxQuery = 4096

// The parameters of a presigned address. All of them are signed but the signature.
const (
	paramKey       = "key"
	paramUpload    = "uploadId"
	paramNumber    = "partNumber"
	paramSize      = "size"
	paramExpires   = "expires"
	paramTurn      = "turn"
	paramSignature = "signature"
)

// grant is the right to send one part to a folder.
type grant struct {
	upload  Upload
	number  int
	size    int64
	expires int64 // seconds since 1970
	turn    string
}

// turnOf stands for a user, whose parts take turns, where others may see it.
func turnOf(secret []byte, user string) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "parley turn 1\n%s", user)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:turnBytes])
}

// sign gives the signature of a grant for a method. None of the fields can hold a
// line's end, so no two grants have the same text.
func (g grant) sign(secret []byte, method string) []byte {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "parley part 2\n%s\n%s\n%s\n%d\n%d\n%d\n%s", method, g.upload.Key, g.upload.ID, g.number, g.size, g.expires, g.turn)
	return mac.Sum(nil)
}

// query writes a grant down.
func (g grant) query(signature []byte) string {
	return url.Values{
		paramKey:       {g.upload.Key},
		paramUpload:    {g.upload.ID},
		paramNumber:    {strconv.Itoa(g.number)},
		paramSize:      {strconv.FormatInt(g.size, 10)},
		paramExpires:   {strconv.FormatInt(g.expires, 10)},
		paramTurn:      {g.turn},
		paramSignature: {base64.RawURLEncoding.EncodeToString(signature)},
	}.Encode()
}

// verify reads a grant for a method from a query. ErrForbidden when it is not one
// that was signed with the secret, or is one no longer.
func verify(secret []byte, method, rawQuery string, now time.Time) (grant, error) {
	g, signature, ok := parseGrant(rawQuery)
	// Everything is signed before it is looked at, so that the answer and its time
	// say nothing of what was wrong.
	if !ok || !hmac.Equal(signature, g.sign(secret, method)) {
		return grant{}, storage.Errorf(storage.ErrForbidden, "this is not an address that a part may be sent to")
	}
	if !now.Before(time.Unix(g.expires, 0)) {
		return grant{}, storage.Errorf(storage.ErrForbidden, "this address has expired; ask for a new one")
	}
	return g, nil
}

// parseGrant reads what query has written, and nothing else that means the same.
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
		upload:  Upload{Key: text(paramKey), ID: text(paramUpload)},
		number:  int(number(paramNumber)),
		size:    number(paramSize),
		expires: number(paramExpires),
		turn:    text(paramTurn),
	}
	signature, err = base64.RawURLEncoding.Strict().DecodeString(text(paramSignature))
	ok = ok && err == nil && len(g.turn) <= maxTurn && checkUpload(g.upload) == nil && g.number <= MaxParts
	return g, signature, ok
}
