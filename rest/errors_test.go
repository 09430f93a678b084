package rest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/auth"
	"parley/rest"
	"parley/storage/sqlstore"
)

// internals are words that would tell a client how the server is made.
var internals = regexp.MustCompile(`(?i)\b(sql|sqlite|postgres|pq|goroutine|panic|struct|runtime|golang|rest|sqlstore|datasets? d|\w+\.go)\b`)

// checkError holds what is true of every error that a client can be answered.
func (s *service) checkError(name string, got answer, status int, code string) {
	s.t.Helper()
	var body struct {
		ErrorCode    *string `json:"error_code"`
		Message      *string `json:"message"`
		ErrorMessage *string `json:"error_message"`
		SubErrors    []struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || body.ErrorCode == nil || body.Message == nil || body.ErrorMessage == nil {
		s.t.Errorf("%s: not an ErrorResponse: %d %q", name, got.status, got.body)
		return
	}
	if got.status != status || *body.ErrorCode != code {
		s.t.Errorf("%s: got %d %s, want %d %s: %s", name, got.status, *body.ErrorCode, status, code, got.body)
	}
	if found := internals.FindString(got.body); found != "" {
		s.t.Errorf("%s: the answer says %q: %s", name, found, got.body)
	}
	if got.header.Get("X-Request-Id") == "" {
		s.t.Errorf("%s: no request id", name)
	}
	if strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") != (status == http.StatusUnauthorized) {
		s.t.Errorf("%s: WWW-Authenticate: %q", name, got.header.Get("WWW-Authenticate"))
	}
}

// RFC 6750, section 3: an error is named where a token was sent, and only there.
func TestChallenge(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	expired, err := auth.Sign(auth.Config{LocalKey: s.auth.LocalKey, Now: func() time.Time { return time.Now().Add(-time.Hour) }}, "alice", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for authorization, want := range map[string]string{
		"":                             "Bearer",
		"Basic YWxpY2U6c2VjcmV0":       "Bearer",
		"Bearer":                       "Bearer",
		"Bearer nonsense":              `Bearer error="invalid_token"`,
		"Bearer " + expired:            `Bearer error="invalid_token"`,
		"Bearer " + s.token("-") + "x": `Bearer error="invalid_token"`,
		"Bearer two tokens":            `Bearer error="invalid_token"`,
	} {
		for _, path := range []string{"/schema/datasets/all", "/query/conversations"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+rest.Root+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if authorization != "" {
				request.Header.Set("Authorization", authorization)
			}
			got := s.do(request)
			if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") != want {
				t.Errorf("%s with %.30q: %d %q, want %q", path, authorization, got.status, got.header.Get("WWW-Authenticate"), want)
			}
		}
	}
}

func TestEveryErrorIsAnErrorResponse(t *testing.T) {
	t.Parallel()
	const definition = "/data/alice/shop/orders/inferDefinition"
	long := strings.Repeat("x", 10_000)
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	tests := []struct {
		name, user, method, path, contentType, body string
		status                                      int
		code                                        string
	}{
		{"unparseable body", "alice", "PUT", definition, "application/json", "{", 400, "BAD_REQUEST"},
		{"two documents", "alice", "PUT", definition, "application/json", "{}{}", 400, "BAD_REQUEST"},
		{"empty body", "alice", "PUT", definition, "application/json", "", 400, "BAD_REQUEST"},
		{"deep JSON", "alice", "PUT", definition, "application/json", deep, 400, "BAD_REQUEST"},
		{"deep JSON in a field", "alice", "PUT", definition, "application/json", `{"dataDescription":` + deep + "}", 400, "BAD_REQUEST"},
		{"invalid UTF-8", "alice", "PUT", definition, "application/json", "{\"dataDescription\":\"\xff\"}", 400, "BAD_REQUEST"},
		{"a number", "alice", "PUT", definition, "application/json", "7", 422, "VALIDATION_FAILED"},
		{"null", "alice", "PUT", definition, "application/json", "null", 422, "VALIDATION_FAILED"},
		{"wrong types", "alice", "PUT", definition, "application/json", `{"dataDescription":[],"schemaDefinition":"x"}`, 422, "VALIDATION_FAILED"},
		{"form", "alice", "PUT", definition, "application/x-www-form-urlencoded", "a=b", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"another charset", "alice", "PUT", definition, "application/json; charset=latin1", "{}", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"no media type at all", "alice", "PUT", definition, "///", "{}", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"body too large", "alice", "PUT", definition, "application/json", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "PAYLOAD_TOO_LARGE"},
		{"a query that cannot be read", "alice", "GET", "/query/conversations?username=%zz", "", "", 400, "BAD_REQUEST"},
		{"a username of no characters", "alice", "POST", "/permissions/namespaces/alice/shop/shares", "application/json", `{"username":"\ud800","role":"viewer"}`, 422, "VALIDATION_FAILED"},
		{"unknown route", "alice", "GET", "/nothing/here", "", "", 404, "NOT_FOUND"},
		{"unknown route, no token", "-", "GET", "/nothing/here", "", "", 404, "NOT_FOUND"},
		{"trailing slash", "alice", "GET", "/schema/datasets/all/", "", "", 404, "NOT_FOUND"},
		{"wrong method", "alice", "PATCH", definition, "", "", 405, "METHOD_NOT_ALLOWED"},
		{"no token", "-", "PUT", definition, "application/json", "{}", 401, "UNAUTHORIZED"},
		{"a NUL in a name", "alice", "GET", "/data/alice/shop/a%00b", "", "", 422, "VALIDATION_FAILED"},
		{"a slash in a name", "alice", "GET", "/data/alice/shop/a%2Fb", "", "", 422, "VALIDATION_FAILED"},
		{"invalid UTF-8 in a name", "alice", "GET", "/data/alice/shop/%ff", "", "", 422, "VALIDATION_FAILED"},
		{"a long name", "alice", "GET", "/data/alice/shop/" + long, "", "", 422, "VALIDATION_FAILED"},
		{"a long username", "alice", "GET", "/data/" + long + "/shop/orders", "", "", 422, "VALIDATION_FAILED"},
		{"a NUL in a username", "alice", "GET", "/data/a%00/shop/orders", "", "", 422, "VALIDATION_FAILED"},
		{"dots", "alice", "GET", "/data/alice/shop/..%2f..%2fetc", "", "", 422, "VALIDATION_FAILED"},
		{"SQL in a name", "alice", "GET", "/data/alice/shop/'%20OR%201=1--", "", "", 422, "VALIDATION_FAILED"},
		{"SQL in a username", "alice", "GET", "/data/'OR'1'='1/shop/orders", "", "", 404, "NOT_FOUND"},
		{"a new name with a NUL", "alice", "POST", "/data/alice/shop/orders/rename", "text/plain", "a\x00b", 422, "VALIDATION_FAILED"},
		{"no new name", "alice", "POST", "/data/alice/shop/orders/rename", "text/plain", "", 422, "VALIDATION_FAILED"},
		{"a grantee with a NUL", "alice", "POST", "/permissions/namespaces/alice/shop/shares", "application/json", `{"username":"a\u0000","role":"viewer"}`, 422, "VALIDATION_FAILED"},
		{"an id of another form", "alice", "GET", "/query/runs/%7B00000000-0000-4000-8000-000000000000%7D", "", "", 404, "NOT_FOUND"},
	}
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.create("alice", "shop", "orders")
		for _, test := range tests {
			s.checkError(test.name, s.send(test.user, test.method, test.path, test.contentType, test.body), test.status, test.code)
		}
	})
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	right := "Bearer " + s.token("alice")
	for name, values := range map[string][]string{
		"garbage":      {"Bearer garbage"},
		"another way":  {"Basic YWxpY2U6YWxpY2U="},
		"no scheme":    {s.token("alice")},
		"empty":        {"Bearer "},
		"two":          {right, right},
		"tampered":     {right + "x"},
		"over-long":    {"Bearer " + strings.Repeat("x", 20_000)},
		"none at all":  {},
		"not in ASCII": {"Bearer \xff"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+rest.Root+"/schema/datasets/all", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header["Authorization"] = values
		s.checkError(name, s.do(request), http.StatusUnauthorized, "UNAUTHORIZED")
	}
}

// TestStalledBody sends the beginning of a body that is never read, and is
// answered all the same.
func TestStalledBody(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for name, head := range map[string]string{
		"no token":  "PUT " + rest.Root + "/data/a/b/c/inferDefinition HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{",
		"too large": "PUT " + rest.Root + "/data/a/b/c/inferDefinition HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.token("alice") + "\r\nContent-Length: 99999999999\r\n\r\n{",
	} {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		if _, err := io.WriteString(connection, head); err != nil {
			t.Fatal(err)
		}
		// A server that waits for the rest does so for a minute.
		if err := connection.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(connection).ReadString('\n')
		if err != nil || !strings.Contains(line, " 4") {
			t.Errorf("%s: %q, %v", name, line, err)
		}
	}
}

func TestContentEncoding(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+rest.Root+"/user/token", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token("alice"))
	request.Header.Set("Content-Encoding", "gzip")
	s.checkError("gzip", s.do(request), http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
}

func TestOverlongHeader(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for _, path := range []string{"/healthz", rest.Root + "/schema/datasets/all"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Padding", strings.Repeat("x", 100_000))
		s.checkError(path, s.do(request), http.StatusBadRequest, "BAD_REQUEST")
	}
}

// TestEmptyHost sends no name of the server, from which addresses are made.
func TestEmptyHost(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for path, want := range map[string]string{
		rest.Root + "/a2a": "400", rest.Root + "/schema/datasets/all": "400", "/docs": "400", "/healthz": "200",
	} {
		for _, request := range []string{"GET " + path + " HTTP/1.0\r\n\r\n", "GET " + path + " HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n"} {
			conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			_ = conn.Close()
			if status := strings.Fields(string(answer)); err != nil || len(status) < 2 || status[1] != want {
				t.Errorf("%q: %v %.200s", request, err, answer)
			}
		}
	}
}

// TestDescriptionLimit counts characters, not bytes: four each here, and twelve
// as escapes.
func TestDescriptionLimit(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.create("alice", "shop", "orders")
		for _, clef := range []string{"𝄞", `\ud834\udd1e`} {
			for count, want := range map[int]int{10_000: http.StatusCreated, 10_001: http.StatusUnprocessableEntity} {
				body := `{"dataDescription":"` + strings.Repeat(clef, count) + `"}`
				got := s.send("alice", http.MethodPut, "/data/alice/shop/orders/inferDefinition", "application/json", body)
				if got.status != want {
					t.Errorf("%d characters: got %d %s, want %d", count, got.status, got.body, want)
				}
			}
		}
		got := s.send("alice", http.MethodGet, "/data/alice/shop/orders", "", "")
		if n := strings.Count(got.body, "𝄞"); n != 10_000 {
			t.Errorf("read back %d characters", n)
		}
	})
}

// TestManyWrongFieldsMakeAShortAnswer keeps a body full of mistakes from being
// answered with a larger one.
func TestManyWrongFieldsMakeAShortAnswer(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.create("alice", "shop", "orders")
	var body strings.Builder
	body.WriteString(`{"schemaDefinition":{"a":1`)
	for i := range 50_000 {
		body.WriteString(`,"f`)
		body.WriteString(strings.Repeat("x", i%7))
		body.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + `":1`)
	}
	body.WriteString("}}")
	got := s.send("alice", http.MethodPut, "/data/alice/shop/orders/inferDefinition", "application/json", body.String())
	s.checkError("many wrong fields", got, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
	if n := strings.Count(got.body, `"code"`); n != 100 {
		t.Errorf("%d sub_errors in %d bytes", n, len(got.body))
	}
}

func FuzzBodies(f *testing.F) {
	for _, body := range []string{`{}`, `{"name":"x"}`, `{"name":1,"accessRestrictedTo":[{}]}`, `[1]`, `{"username":"bob","role":"viewer"}`, "\xff", `{"schemaDefinition":{"a":"b"}}`, aQuestion} {
		f.Add(body)
	}
	s := newService(f, sqlstoretest.SQLite(f))
	s.create("alice", "shop", "orders")
	operations := [][2]string{
		{"PUT", "/data/alice/shop/orders/inferDefinition"},
		{"POST", "/permissions/datasets/alice/shop/orders/shares"},
		{"POST", "/user/token"},
		{"POST", "/data/alice/shop/orders/clear"},
		{"POST", "/query/ask"},
		{"POST", "/query/runs/00000000-0000-4000-8000-000000000000/feedback"},
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := *s
		s.t = t
		for _, operation := range operations {
			got := s.send("alice", operation[0], operation[1], "application/json", body)
			if got.status >= http.StatusInternalServerError {
				t.Errorf("%v of %q: %d %s", operation, body, got.status, got.body)
			}
		}
	})
}
