package rest_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/rest"
	"parley/storage/sqlstore"
)

// operations lists every route of the interface, as "METHOD /path".
func (s *service) operations() []string {
	var operations []string
	for _, route := range s.rest.Routes() {
		if path, ok := strings.CutPrefix(route.Path, rest.Root); ok {
			operations = append(operations, route.Method+" "+path)
		}
	}
	slices.Sort(operations)
	if len(operations) < 20 {
		s.t.Fatalf("only %d operations: %v", len(operations), operations)
	}
	return operations
}

// publicOperations are for everybody: what agents there are, and how to reach
// them.
var publicOperations = []string{
	"GET /a2a", "HEAD /a2a", "GET /a2a/:agent/.well-known/agent-card.json", "HEAD /a2a/:agent/.well-known/agent-card.json",
	"GET /a2a/:agent/v0.3/.well-known/agent-card.json", "HEAD /a2a/:agent/v0.3/.well-known/agent-card.json",
	"GET /a2a/:agent/v0.3/.well-known/agent.json", "HEAD /a2a/:agent/v0.3/.well-known/agent.json",
	"GET /a2a/.well-known/agent-card.json", "HEAD /a2a/.well-known/agent-card.json",
}

// at fills in the parameters of an operation's path with what the service has.
func (s *service) at(path string) string {
	return strings.NewReplacer(
		":username", "alice", ":user", "alice", ":namespace", "shop", ":datasetName", "orders",
		":conversationId", s.vars["conversation"], ":runId", s.vars["completed"], ":tokenId", s.vars["dataset-id"],
		":sessionId", s.vars["session"], ":fileId", s.vars["file"], ":ingestionId", s.vars["ingestion"],
		":agent", "nl2ql", ":queryId", s.vars["conversation"], ":shareId", s.vars["share"],
	).Replace(path)
}

func TestEveryOperationNeedsAToken(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for _, id := range []string{"conversation", "completed", "dataset-id", "session", "file", "ingestion", "share"} {
		s.vars[id] = uuid.NewString()
	}
	for _, operation := range s.operations() {
		method, path, _ := strings.Cut(operation, " ")
		if path == rest.PartPath {
			continue // by a signed address
		}
		if slices.Contains(publicOperations, operation) {
			if got := s.send("-", method, s.at(path), "", ""); got.status != http.StatusOK {
				t.Errorf("%s: %d %s", operation, got.status, got.body)
			}
			continue
		}
		got := s.send("-", method, s.at(path), "application/json", "{}")
		if slices.Contains(rest.HTTPBinding(), operation) {
			if got.status != http.StatusUnauthorized || got.body != "refused: a bearer token is required" {
				t.Errorf("%s: %d %s", operation, got.status, got.body)
			}
			continue
		}
		s.checkError(operation, got, http.StatusUnauthorized, "UNAUTHORIZED")
	}
}

const aQuery = `{"question":"How many?","query":"SELECT 1"}`

const aGrant = `{"username":"bob","role":"viewer"}`

const aRule = `{"username":"bob","condition":"true"}`

// bodies are those of operations that need one, aimed at alice's namespace shop.
var bodies = map[string]string{
	"POST /permissions/datasets/:username/:namespace/:datasetName/shares":   aGrant,
	"DELETE /permissions/datasets/:username/:namespace/:datasetName/shares": aGrant,
	"POST /permissions/datasets/:username/:namespace/:datasetName/rules":    aRule,
	"DELETE /permissions/datasets/:username/:namespace/:datasetName/rules":  aRule,
	"POST /permissions/namespaces/:username/:namespace/shares":              aGrant,
	"DELETE /permissions/namespaces/:username/:namespace/shares":            aGrant,
	"POST /user/token":                                    `{"name":"wider"}`,
	"POST /data/:username/:namespace/rename":              "mine",
	"POST /data/:username/:namespace/:datasetName/rename": "mine",

	"POST /ingest/preview":                                             `{"sessionId":"{session}","fileId":"{file}"}`,
	"POST /ingest/:namespace/:datasetName":                             `{"data":[{"a":1}]}`,
	"POST " + rest.RowsForNew:                                          `{"data":[{"a":1}]}`,
	"POST /data/:username/:namespace/:datasetName/ingest":              `{"files":[{"sessionId":"{session}","fileId":"{file}"}]}`,
	"POST /data/:username/:namespace/:datasetName/ingest/tables":       `{"sessionId":"{session}","fileId":"{file}"}`,
	"POST /file-upload/:sessionId/files/:fileId/finish":                `{"uploadId":"{uploadId}","key":"{key}","parts":[{"partNumber":1,"etag":"x"}]}`,
	"PUT /data/:username/:namespace/:datasetName/links":                `{"links":[]}`,
	"POST /file-upload/prepare":                                        `{"filesToUpload":[{"filename":"a.csv","size":1}]}`,
	"POST /upload/multipart/:username/:namespace/:datasetName/prepare": `{"filename":"a.csv","size":1}`,
	"POST /upload/multipart/:username/:namespace/:datasetName/finish":  `{"uploadId":"{uploadId}","key":"{key}","parts":[{"partNumber":1,"etag":"x"}]}`,
	"POST /upload/multipart/:username/:namespace/:datasetName/abort":   `{"uploadId":"{uploadId}","key":"{key}"}`,
	"POST /query":                                `{"username":"alice","namespace":"shop","query":"SELECT 1"}`,
	"POST /query/ask":                            `{"username":"alice","namespace":"shop","query":"How many?"}`,
	"POST /query/autorag":                        `{"username":"alice","namespace":"shop","query":"How many?"}`,
	"POST /query/runs/:runId/input":              `{"text":"1"}`,
	"PATCH /query/conversations/:conversationId": `{"title":"x"}`,
	"POST /query/runs/:runId/feedback":           `{"thumbsUp":true}`,
	"POST /query/receipts/verify":                `{"type":"parley-receipt-1","steps":[{"query":"SELECT 1","datasets":[{"dataset":"alice/shop/orders"}]}]}`,
	"POST /verified/:username/:namespace":        aQuery, "POST /boards/:username/:namespace": aQuery,
}

// try sends an operation with a token, aimed at what the service has.
func (s *service) try(token, operation string) answer {
	s.t.Helper()
	method, path, _ := strings.Cut(operation, " ")
	body, ok := bodies[operation]
	if !ok {
		body = "{}"
	}
	contentType := "application/json"
	if !strings.HasPrefix(body, "{") {
		contentType = "text/plain"
	}
	return s.send(token, method, s.at(path), contentType, s.expand(body))
}

// belongings is what alice has in namespace shop.
func (s *service) belongings() string {
	return string(s.play(`
alice GET /data/alice/shop/orders
alice GET /data/alice/shop/orders/links
alice GET /permissions/namespaces/alice/shop/shares
alice GET /permissions/datasets/alice/shop/orders/shares
alice GET /shared/{share}
alice GET /verified/alice/shop
alice GET /boards/alice/shop
alice GET /query/conversations/{conversation}
alice GET /schema/datasets/all
alice GET /file-upload/{session}/files
alice GET /user/tokens`))
}

// TestRestrictionHoldsInEveryOperation sends every operation there is, aimed at
// alice's namespace shop, with a token of hers that covers another one. An
// operation that is added later is sent too: it must answer 403 or 404 as it
// is, or be named here with the body that it needs, or with what it may show.
func TestRestrictionHoldsInEveryOperation(t *testing.T) {
	t.Parallel()
	// What is not about any namespace: it is for every token, and its own.
	free := append([]string{
		"POST /file-upload/prepare", "PUT " + rest.PartPath, "GET /query/models", "POST /query/receipts/verify", "POST /infer/description", "POST /infer/schema", "POST /infer/preview",
	}, publicOperations...)
	// What an agent's host decides, which is told of the restriction.
	hosted := append([]string{"POST /a2a/:agent", "POST /a2a/:agent/", "POST /a2a/:agent/v0.3", "POST /a2a/:agent/v0.3/",
		"POST /a2a/:agent/:owner/:namespace", "POST /a2a/:agent/:owner/:namespace/", "GET /a2a/:agent/:owner/:namespace/.well-known/agent-card.json"}, rest.HTTPBinding()...)
	lists := []string{"GET /schema/:user/namespaces", "GET /schema/datasets/all", "GET /query/conversations"}

	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.haveConversation()
		s.haveShare()
		s.haveUpload()
		s.create("alice", "archive", "old")
		s.makeToken("dataset", "alice", `{"name":"another"}`)
		s.makeToken("elsewhere", "alice", `{"name":"elsewhere","access":"write","accessRestrictedTo":[{"username":"alice","namespace":"archive"}]}`)
		before := s.belongings()
		for _, operation := range s.operations() {
			got := s.try("elsewhere", operation)
			switch {
			case slices.Contains(free, operation):
			case slices.Contains(hosted, operation):
				if !strings.Contains(got.body, `"restricted":true`) {
					t.Errorf("%s: the host is not told: %d %s", operation, got.status, got.body)
				}
			case slices.Contains(lists, operation):
				if got.status != http.StatusOK || strings.Contains(got.body, "shop") || strings.Contains(got.body, "orders") {
					t.Errorf("%s: %d %s", operation, got.status, got.body)
				}
			case got.status != http.StatusForbidden && got.status != http.StatusNotFound:
				t.Errorf("%s: a token for another namespace got %d %s", operation, got.status, got.body)
			}
		}
		if after := s.belongings(); after != before {
			t.Errorf("a token for another namespace changed things:\n%s\nto\n%s", before, after)
		}
	})
}

// TestReadOnlyTokenInEveryOperation sends every operation there is with a
// read-only token that covers what it is aimed at. An operation that is added
// later is sent too: it must answer 403 as it is, or be named here as one that
// reads.
func TestReadOnlyTokenInEveryOperation(t *testing.T) {
	t.Parallel()
	reads := append([]string{
		"GET /data/:username/:namespace/:datasetName", "GET /data/:username/:namespace/:datasetName/rows", "GET /data/:username/:namespace/:datasetName/profile", "GET /data/:username/:namespace/:datasetName/download",
		"GET /data/:username/:namespace/:datasetName/links", "GET /data/:username/:namespace/:datasetName/ingest/attempts",
		"GET /permissions/datasets/:username/:namespace/:datasetName/shares", "GET /permissions/datasets/:username/:namespace/:datasetName/rules", "GET /permissions/namespaces/:username/:namespace/shares",
		"GET /schema/:user/namespaces", "GET /schema/:user/:namespace/datasets", "GET /schema/datasets/all",
		"GET /shared/:shareId", "GET /verified/:username/:namespace", "GET /boards/:username/:namespace",
		"GET /query/models", "GET /query/conversations", "GET /query/conversations/:conversationId", "GET /query/runs/:runId", "GET /query/runs/:runId/share", "GET /query/runs/:runId/receipt", "POST /query/receipts/verify",
		"POST /query", "POST /query/ask", "POST /query/autorag", "POST /query/runs/:runId/resume", "POST /query/runs/:runId/feedback",
		"POST /infer/description", "POST /infer/schema", "POST /infer/preview",
		"POST /a2a/:agent", "POST /a2a/:agent/", "POST /a2a/:agent/v0.3", "POST /a2a/:agent/v0.3/",
		"POST /a2a/:agent/:owner/:namespace", "POST /a2a/:agent/:owner/:namespace/", "GET /a2a/:agent/:owner/:namespace/.well-known/agent-card.json", // where an agent's host decides
		"POST /query/runs/:runId/input",
	}, append(rest.HTTPBinding(), publicOperations...)...)
	// Uploads that others have prepared are not found, as with any restricted
	// token.
	uploads := []string{
		"POST /file-upload/:sessionId/files/:fileId/finish", "GET /file-upload/:sessionId/files/:fileId/parts",
		"GET /file-upload/:sessionId/files", "POST /file-upload/:sessionId/abort", "POST /ingest/preview",
		"POST /upload/multipart/:username/:namespace/:datasetName/abort",
	}
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.haveConversation()
		s.haveShare()
		s.haveUpload()
		s.makeToken("dataset", "alice", `{"name":"another"}`)
		s.makeToken("reader", "alice", `{"name":"reader","accessRestrictedTo":[{"username":"alice","namespace":"shop"}]}`)
		before := s.belongings()
		for _, operation := range s.operations() {
			got := s.try("reader", operation)
			switch {
			case operation == "PUT "+rest.PartPath: // by a signed address
			case slices.Contains(reads, operation):
				if got.status == http.StatusUnauthorized || got.status == http.StatusForbidden || got.status == http.StatusNotFound || got.status >= 500 {
					t.Errorf("%s: %d %s", operation, got.status, got.body)
				}
			case slices.Contains(uploads, operation):
				s.checkError(operation, got, http.StatusNotFound, "NOT_FOUND")
			default:
				s.checkError(operation, got, http.StatusForbidden, "FORBIDDEN")
				if !strings.Contains(got.body, "this token is read-only") && !strings.Contains(got.body, "a restricted token cannot") {
					t.Errorf("%s does not say why: %s", operation, got.body)
				}
			}
		}
		if after := s.belongings(); after != before {
			t.Errorf("a read-only token changed things:\n%s\nto\n%s", before, after)
		}
	})
}

// TestReadOnlyTokenStopsNoRun has tokens delete a run that goes on: it is ended
// only by one that may delete it.
func TestReadOnlyTokenStopsNoRun(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.haveConversation()
	for _, test := range []struct {
		access  string
		status  int
		stopped string
	}{{"read", http.StatusForbidden, ""}, {"write", http.StatusNoContent, s.vars["running"]}} {
		s.makeToken(test.access, "alice", `{"name":"x","access":"`+test.access+`","accessRestrictedTo":[{"username":"alice","namespace":"shop"}]}`)
		got := s.send(test.access, "DELETE", "/query/runs/"+s.vars["running"], "", "")
		if got.status != test.status || s.agents.stopped != test.stopped {
			t.Errorf("%s: %d %s, stopped %q", test.access, got.status, got.body, s.agents.stopped)
		}
	}
}

// TestNamesThatArePartsOfPaths calls users, namespaces and datasets what paths have
// in their place: every route is still taken, or the one that stands in for it.
func TestNamesThatArePartsOfPaths(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	var names []string
	binding := rest.HTTPBinding()
	for _, operation := range s.operations() {
		_, path, _ := strings.Cut(operation, " ")
		for part := range strings.SplitSeq(path[1:], "/") {
			if part != "" && part[0] != ':' && part[0] != '.' && !slices.Contains(names, part) {
				names = append(names, part, part[:len(part)-1], part+"s")
			}
		}
	}
	for _, operation := range s.operations() {
		method, path, _ := strings.Cut(operation, " ")
		asked := map[string]bool{} // most paths have fewer than three names
		for _, name := range names {
			for _, called := range [][3]string{{name, "x", "x"}, {"x", name, "x"}, {"x", "x", name}, {name, name, name}} {
				filled, want := fill(path, called[0], called[1], called[2])
				if asked[filled] {
					continue
				}
				asked[filled] = true
				route, got := s.rest.Took(method, rest.Root+filled)
				if route == rest.Root+rest.RowsForNew && strings.HasPrefix(filled, "/ingest/new/") {
					continue
				}
				if strings.Contains(name, ":") && strings.HasPrefix(path, "/a2a/:agent/:owner/:namespace") {
					continue // no namespace has a colon in its name
				}
				if slices.Contains(binding, operation) && slices.Contains(binding, method+" "+strings.TrimPrefix(route, rest.Root)) {
					continue // one handler has them all, and reads the path itself
				}
				if route != rest.Root+path || !maps.Equal(got, want) {
					t.Errorf("%s %s took %q with %v", method, filled, route, got)
				}
			}
		}
	}
}

// TestNamespaceCalledNew returns rows to a dataset in a namespace called new.
func TestNamespaceCalledNew(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for _, dataset := range []string{"x", "new"} {
		if got := s.send("alice", http.MethodPost, "/ingest/new/new/"+dataset, "", ""); got.status != http.StatusCreated {
			t.Errorf("create: %d %s", got.status, got.body)
		}
		if got := s.send("alice", http.MethodPost, "/ingest/new/"+dataset, "application/json", `{"data":[{"a":1}]}`); got.body != `{"indexed":1}`+"\n" {
			t.Errorf("add rows: %d %s", got.status, got.body)
		}
		if got := s.send("alice", http.MethodGet, "/data/self/new/"+dataset, "", ""); !strings.Contains(got.body, `"rowCount":1`) {
			t.Errorf("afterwards: %d %s", got.status, got.body)
		}
	}
	s.checkError("a wrong name", s.send("alice", http.MethodPost, "/ingest/new/-", "application/json", `{"data":[]}`), http.StatusUnprocessableEntity, "VALIDATION_FAILED")
}

// fill puts names into an operation's path, and gives them by the parameters.
func fill(path, user, namespace, dataset string) (string, map[string]string) {
	values := map[string]string{}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		name, ok := strings.CutPrefix(part, ":")
		if !ok {
			continue
		}
		value, named := map[string]string{"username": user, "user": user, "namespace": namespace, "datasetName": dataset}[name]
		if !named {
			value = "x"
		}
		parts[i], values[name] = value, value
	}
	return strings.Join(parts, "/"), values
}
