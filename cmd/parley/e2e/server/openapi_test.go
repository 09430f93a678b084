package server

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/internal/domain"
	"parley/rest"
)

// maxBody is how large bodies may be on the server of TestOpenAPI.
const maxBody = 64 << 10

// unseen are answers that are described and not brought about here: they take
// something that breaks.
var unseen = []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}

// TestOpenAPI sends every operation that is described, and sees that it is
// answered in the ways that are described, each as described.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	limits := e2etest.Limits(e2etest.Object{"MaxBody": maxBody, "MaxRowsBody": maxBody, "MaxAttachment": maxBody})
	p := e2etest.Serve(t, t.TempDir(), []string{limits}, "--auth-url", "https://id.example/authorize?a=b")
	d := describe(t, p, "alice", "bob", "carol")
	d.checkAddresses()

	d.datasets()
	d.shares()
	d.tokensOfOnesOwn()
	d.uploads()
	d.inference()
	d.questions()
	d.agents()
	d.service()
	d.heads()
	d.refusals()
	d.endings()
	d.withoutTracing()

	for _, id := range d.order {
		if tag := d.operations[id].at("tags").list()[0].value; tag == "Sign-in" {
			continue // the tests of rest have a provider for these
		}
		for _, status := range d.operations[id].at("responses").keys() {
			code, err := strconv.Atoi(status)
			if err != nil {
				t.Fatal(err)
			}
			if !d.seen[id][code] && !slices.Contains(unseen, code) {
				t.Errorf("%s was never answered with %d", id, code)
			}
		}
	}
}

// checkAddresses sees whether the description is about this server.
func (d *described) checkAddresses() {
	d.t.Helper()
	if got, _ := d.doc.at("servers").list()[0].member("url"); got != d.p.URL+rest.Root {
		d.t.Errorf("the server is %q", got)
	}
	if got, _ := d.doc.at("paths", "/healthz", "servers").list()[0].member("url"); got != d.p.URL {
		d.t.Errorf("the server of /healthz is %q", got)
	}
	flow := d.doc.at("components", "securitySchemes", "openId", "flows", "implicit")
	if got, _ := flow.member("authorizationUrl"); got != "https://id.example/authorize?a=b" {
		d.t.Errorf("the authorization address is %q", got)
	}
}

func (d *described) datasets() {
	d.call("alice createDataset 201")
	d.call("alice createDataset 409")
	d.call("alice createDataset 201", param("datasetName", "empty"), sent("", ""))
	d.call("alice appendRows 200")
	d.call("alice putDefinition 201")
	d.call("alice getDataset 200")
	d.call("alice getDataset 200", param("datasetName", "empty"))
	d.call("alice getRows 200", query("limit=2&offset=1&sort=price&order=desc"))
	d.call("alice getRows 200", param("datasetName", "empty"))
	d.call("alice getRows 422", query("limit=0&sort=colour"))
	d.call("alice downloadDataset 200")
	d.call("alice downloadDataset 200", query("format=parquet"))
	d.call("alice downloadDataset 422", param("datasetName", "empty"))
	d.call("alice getProfile 200")
	d.call("alice getProfile 200", param("datasetName", "empty"))
	d.call("alice putLinks 422")
	d.call("alice putLinks 200", sent("application/json", `{"links":[{"columns":["item"],"dataset":"orders","toColumns":["ITEM"],"label":"itself"}]}`))
	d.call("alice getLinks 200")
	d.call("alice getDatasets 200")
	d.call("alice getNamespaceDatasets 200")
	d.call("alice getNamespaceDatasets 200", query("metadata=true"))
	d.call("alice getNamespaces 200")
}

func (d *described) shares() {
	d.call("alice shareNamespace 200")
	d.call("alice getNamespaceShares 200")
	d.call("alice shareDataset 200")
	d.call("alice getDatasetShares 200")
	d.call("alice setRowRule 200", set(e2etest.Object{"condition": "true"}))
	d.call("alice getRowRules 200")
	d.call("alice deleteRowRule 200")
	// A viewer sees all this and may not change it.
	for _, id := range []string{
		"getNamespaceShares", "shareNamespace", "revokeNamespaceShare", "getDatasetShares", "shareDataset", "revokeDatasetShare",
		"getRowRules", "setRowRule", "deleteRowRule",
		"putLinks", "clearDataset", "renameDataset", "deleteDataset", "deleteDatasetByBalefire", "renameNamespace", "deleteNamespace",
		"prepareDatasetUpload", "finishDatasetUpload", "startIngestion", "ingestTables",
	} {
		d.call("bob "+id+" 403", set(e2etest.Object{"username": "carol"}))
	}
}

func (d *described) tokensOfOnesOwn() {
	var made struct{ ID, Token string }
	d.call("alice createToken 200").into(d.t, &made)
	d.tokens["narrow"] = made.Token
	d.call("alice getTokens 200")
	d.call("alice getTokenPermissions 200", param("tokenId", made.ID))
	// A restricted token does what it covers, and manages no tokens.
	d.call("narrow getDataset 200")
	for _, id := range []string{"createToken", "getTokens", "deleteToken", "getTokenPermissions"} {
		d.call("narrow " + id + " 403")
	}
	for _, id := range []string{"putDefinition", "prepareUpload"} {
		d.call("narrow " + id + " 403") // it is read-only
	}
	for _, id := range []string{"createDataset", "appendRows"} {
		d.call("narrow "+id+" 403", param("namespace", "elsewhere"))
	}

	var short struct{ ID string }
	d.call("alice createToken 200").into(d.t, &short)
	d.call("alice deleteToken 200", param("tokenId", short.ID))
}

// orderFile is as large as the description's example says that it is.
const orderFile = "item,city,price\nplum,Rome,2.5\nlime,Oslo,0.75\n"

func (d *described) uploads() {
	var prepared struct {
		SessionID string
		Files     []struct {
			FileID, UploadID, Key string
			PresignedURLs         []struct{ URL string }
		}
	}
	prepare := func() { d.call("alice prepareUpload 200").into(d.t, &prepared) }
	send := func(address, text string) e2etest.Object {
		got := d.call("- sendPart 200", to(address), sent("application/octet-stream", text))
		return e2etest.Object{"partNumber": 1, "etag": got.header.Get("ETag")}
	}
	upload := func(text string) {
		prepare()
		file := prepared.Files[0]
		parts := []e2etest.Object{send(file.PresignedURLs[0].URL, text)}
		d.call("alice finishUpload 200", param("sessionId", prepared.SessionID), param("fileId", file.FileID),
			set(e2etest.Object{"uploadId": file.UploadID, "key": file.Key, "parts": parts}))
	}

	upload(orderFile)
	session := param("sessionId", prepared.SessionID)
	d.call("alice getUploadedFiles 200", session)
	d.call("alice abortUpload 422", session)
	one := set(e2etest.Object{"sessionId": prepared.SessionID, "fileId": prepared.Files[0].FileID})
	d.call("alice previewFile 200", one)
	d.call("alice ingestTables 202", one, param("datasetName", "each"), set(e2etest.Object{"id": prepared.SessionID}))
	d.call("alice ingestTables 409", one, param("datasetName", "other"), set(e2etest.Object{"id": prepared.SessionID}))
	d.call("alice previewFile 422", one, set(e2etest.Object{"options": e2etest.Object{"colour": 1}}))
	good := set(e2etest.Object{"files": []e2etest.Object{{"sessionId": prepared.SessionID, "fileId": prepared.Files[0].FileID}}})

	prepare()
	address := prepared.Files[0].PresignedURLs[0].URL
	d.call("- sendPart 422", to(address), sent("application/octet-stream", "short"))
	d.call("- sendPart 403", to(address+"0"), sent("application/octet-stream", orderFile))
	open, file := param("sessionId", prepared.SessionID), param("fileId", prepared.Files[0].FileID)
	d.call("alice getUploadedFiles 200", open)
	d.call("alice getUploadParts 200", open, file)
	send(address, orderFile)
	d.call("alice getUploadParts 200", open, file)
	d.call("alice abortUpload 200", open)
	d.call("alice getUploadParts 422", open, file)
	d.call("- sendPart 404", to(address), sent("application/octet-stream", orderFile))

	upload(`[{"item":` + strings.Repeat(" ", len(orderFile)-9))
	broken := set(e2etest.Object{"files": []e2etest.Object{{"sessionId": prepared.SessionID, "fileId": prepared.Files[0].FileID}}})
	d.ingestions(good, broken)
	d.uploadsIntoDatasets(send)
}

func (d *described) ingestions(good, broken change) {
	d.call("alice createDataset 201", param("datasetName", "files"))
	files := param("datasetName", "files")
	status := func(id string) (status string) {
		var page struct{ Data []struct{ ID, Status string } }
		d.call("alice getAttempts 200", files, query("pageSize=100")).into(d.t, &page)
		for _, attempt := range page.Data {
			if attempt.ID == id {
				return attempt.Status
			}
		}
		return ""
	}
	var started struct{ ID string }
	ingest := func(what change, end string) (id change) {
		d.call("alice startIngestion 202", files, what).into(d.t, &started)
		e2etest.Eventually(d.t, func() bool { return status(started.ID) == end })
		return param("ingestionId", started.ID)
	}
	done := ingest(good, "completed")
	d.call("alice markIngestionSeen 204", done)
	d.call("alice retryIngestion 422", done)
	d.call("alice startIngestion 409", files, broken, set(e2etest.Object{"id": started.ID}))
	d.call("alice retryIngestion 201", ingest(broken, "failed"))
	failed := ingest(broken, "failed")
	taken := uuid.NewSHA1(uuid.MustParse(started.ID), []byte("retry")) // what it would become
	d.call("alice startIngestion 202", files, good, set(e2etest.Object{"id": taken.String(), "name": "taken"}))
	d.call("alice retryIngestion 409", failed)
	for _, id := range []string{"retryIngestion", "markIngestionSeen"} {
		d.call("bob "+id+" 403", done)
		d.call("carol "+id+" 404", done)
	}
}

func (d *described) uploadsIntoDatasets(send func(address, text string) e2etest.Object) {
	var prepared struct {
		UploadID, Key string
		PresignedURLs []struct{ URL string }
	}
	into := param("datasetName", "uploaded")
	d.call("alice prepareDatasetUpload 200", into).into(d.t, &prepared)
	parts := []e2etest.Object{send(prepared.PresignedURLs[0].URL, orderFile)}
	finish := set(e2etest.Object{"uploadId": prepared.UploadID, "key": prepared.Key, "parts": parts})
	d.call("alice finishDatasetUpload 201", into, finish)
	d.call("alice finishDatasetUpload 422", param("datasetName", "elsewhere"), finish)
	d.call("alice renameDataset 200", into, sent("text/plain", "called-otherwise"))
	d.call("alice finishDatasetUpload 409", into, finish)
	d.call("alice prepareDatasetUpload 200", into).into(d.t, &prepared)
	d.call("alice abortDatasetUpload 200", into, set(e2etest.Object{"uploadId": prepared.UploadID, "key": prepared.Key}))
}

func (d *described) inference() {
	d.call("alice inferDescription 200")
	d.call("alice inferSchema 200")
	d.call("alice preview 200")
}

func (d *described) questions() {
	d.call("alice postQuery 200", example("query"))
	d.call("alice postQuery 200", example("question"))
	d.call("alice ask 200")
	d.call("alice ask 200", set(e2etest.Object{"agent": "nl2ql"}))
	type asked struct{ RunID, ConversationID string }
	var first asked
	d.call("alice askAndWait 200").into(d.t, &first)
	run, conversation := param("runId", first.RunID), param("conversationId", first.ConversationID)
	d.call("alice getRun 200", run)
	d.call("alice rateRun 204", run)
	d.call("alice resumeRun 410", run)
	d.call("alice getConversations 200")
	d.call("alice getConversations 200", query("username=self&namespace=shop"))
	d.call("alice getConversation 200", conversation)
	d.call("alice getConversation 200", conversation, query("limit=1"))
	d.call("alice getConversation 422", conversation, query("limit=0&before=x"))

	d.call("alice renameConversation 204", conversation)
	d.call("bob renameConversation 404", conversation)
	d.call("alice getModels 200")

	d.savedQueries()
	var share struct{ ID string }
	var receipt e2etest.Object
	d.call("alice getReceipt 200", run).into(d.t, &receipt)
	d.call("alice verifyReceipt 200", set(receipt))
	d.call("bob getReceipt 404", run)
	d.call("alice getRunShare 200", run)
	d.call("alice shareRun 200", run).into(d.t, &share)
	d.call("alice getRunShare 200", run)
	d.call("alice getShared 200", param("shareId", share.ID))
	d.call("bob getShared 200", param("shareId", share.ID))
	d.call("carol getShared 404", param("shareId", share.ID))
	d.call("alice endRunShare 204", run)
	d.askedBack()
	failed := d.heldRuns()
	d.call("alice getRun 200", failed)
	d.call("alice rateRun 422", failed)
	d.call("alice shareRun 422", failed)
	d.call("alice getReceipt 422", failed)
	d.call("alice resumeRun 422", failed)
	d.call("alice deleteRun 204", failed)
	d.call("alice deleteConversation 204", conversation)

	// A conversation of which a token sees one run is not that token's to delete.
	var mixed asked
	d.call("narrow askAndWait 200").into(d.t, &mixed)
	d.call("alice askAndWait 200", set(e2etest.Object{"conversationId": mixed.ConversationID}))
	d.call("narrow deleteConversation 403", param("conversationId", mixed.ConversationID))
	d.call("narrow renameConversation 403", param("conversationId", mixed.ConversationID))
	d.call("narrow deleteRun 403", param("runId", mixed.RunID))
	d.call("narrow shareRun 403", param("runId", mixed.RunID))
	d.call("alice shareRun 200", param("runId", mixed.RunID))
	d.call("narrow endRunShare 403", param("runId", mixed.RunID))
}

// savedQueries saves queries, which bob may read.
func (d *described) savedQueries() {
	for get, change := range map[string][2]string{"getVerified": {"verifyQuery", "deleteVerified"}, "getBoard": {"pinQuery", "deletePin"}} {
		var saved struct{ ID string }
		d.call("alice "+change[0]+" 201").into(d.t, &saved)
		d.call("bob " + get + " 200")
		d.call("bob " + change[0] + " 403")
		d.call("bob "+change[1]+" 403", param("queryId", saved.ID))
		if get == "getVerified" {
			var answer struct{ Steps []struct{ Verified bool } }
			d.call("bob askAndWait 200", set(e2etest.Object{"username": "alice", "query": "how many orders are there"})).into(d.t, &answer)
			if len(answer.Steps) != 1 || !answer.Steps[0].Verified {
				d.t.Errorf("a verified question is answered with %+v", answer)
			}
		}
		if get == "getBoard" {
			d.call("alice changePin 204", param("queryId", saved.ID))
			d.call("bob changePin 403", param("queryId", saved.ID))
			d.call("narrow watchQuery 403", param("queryId", saved.ID))
			d.call("narrow unwatchQuery 403", param("queryId", saved.ID))
			d.call("bob watchQuery 204", param("queryId", saved.ID))
			d.call("bob getBoard 200")
			d.call("bob unwatchQuery 204", param("queryId", saved.ID))
		}
		d.call("alice "+change[1]+" 204", param("queryId", saved.ID))
	}
}

// askedBack has a run ask which of two readings is meant, and answers it.
func (d *described) askedBack() {
	c := e2etest.Client{Process: d.p, Token: d.tokens["alice"]}
	c.NewWorkshop()
	which := set(e2etest.Object{"namespace": "workshop", "query": e2etest.WhichDate, "agent": "nl2ql"})
	got := string(d.call("alice ask 200", which).text)
	waiting := param("runId", e2etest.Field(got, "runId"))
	d.call("alice getRun 200", waiting)
	d.call("alice getConversation 200", param("conversationId", e2etest.Field(got, "conversationId")))
	d.call("alice resumeRun 200", waiting)
	d.call("bob answerRun 404", example("option"), waiting)
	var reader struct{ Token string }
	c.Ask(http.MethodPost, "/user/token", e2etest.Object{"name": "reader", "accessRestrictedTo": []e2etest.Object{{"username": "self", "namespace": "workshop"}}}, &reader)
	d.tokens["reader"] = reader.Token
	d.call("reader answerRun 403", example("option"), waiting)
	d.call("alice answerRun 422", waiting, set(e2etest.Object{"option": "3"}))
	d.call("alice answerRun 202", example("text"), waiting)
	e2etest.Eventually(d.t, func() bool {
		_, text := d.p.Call(c.Token, http.MethodGet, "/api/v1/query/runs/"+e2etest.Field(got, "runId"), "")
		return strings.Contains(text, `"status":"completed"`)
	})
	d.call("alice answerRun 409", example("option"), waiting)
	d.call("alice ask 200", which, set(e2etest.Object{"neverAsk": true}))
	d.call("alice askAndWait 200", which)
}

// heldRuns follows runs that go on, by both interfaces, and gives one that was
// canceled, and so has failed.
func (d *described) heldRuns() (failed change) {
	c := e2etest.Client{Process: d.p, Token: d.tokens["alice"]}
	letGo := c.Hold()
	run := d.begin()
	d.call("alice getRun 200", param("runId", run))
	d.call("alice resumeRun 200", param("runId", run), whenBegun(letGo))

	letGo = c.Hold()
	d.call("alice callAgent 200", example("subscribe"), set(e2etest.Object{"params": e2etest.Object{"id": d.begin()}}), whenBegun(letGo))

	letGo = c.Hold()
	defer letGo()
	run = d.begin()
	got := d.call("alice resumeRun 200", param("runId", run), whenBegun(func() {
		d.call("alice callAgent 200", example("cancel"), set(e2etest.Object{"params": e2etest.Object{"id": run}}))
	}))
	if events := got.value.([]any); events[len(events)-1].(map[string]any)["event"] != "error" {
		d.t.Errorf("a canceled run has not failed: %s", got.text)
	}
	return param("runId", run)
}

// begin asks, and gives the run before it has ended.
func (d *described) begin() (run string) {
	var sent struct {
		Result struct{ Task struct{ ID string } }
	}
	d.call("alice callAgent 200", example("send"), set(e2etest.Object{"params": e2etest.Object{
		"message": e2etest.Object{
			"messageId": domain.NewID(), "role": "ROLE_USER", "parts": []e2etest.Object{{"text": "How many orders are there?"}},
			"metadata": e2etest.Object{"namespace": "shop"},
		},
		"configuration": e2etest.Object{"returnImmediately": true},
	}})).into(d.t, &sent)
	return sent.Result.Task.ID
}

func (d *described) agents() {
	for _, id := range []string{"getCatalog", "getDefaultCard", "getHostCard", "getAICatalog", "getCardKeys"} {
		d.call("- " + id + " 200")
	}
	for _, name := range []string{"nl2ql", "assistant"} {
		agent := param("agent", name)
		d.call("- getCard 200", agent)
		var sent struct {
			Result struct{ Task struct{ ID string } }
		}
		d.call("alice callAgent 200", agent, example("send"), header("A2A-Version", "1.0")).into(d.t, &sent)
		d.call("alice callAgent 200", agent, example("stream"))
		d.call("alice callAgent 200", agent, example("get"), set(e2etest.Object{"params": e2etest.Object{"id": sent.Result.Task.ID}}))
		d.call("alice callAgent 200", agent, example("list"))
		d.call("alice callAgent 200", agent, example("card"))
		d.call("alice callAgent 200", agent, example("batch"))
		// Errors of JSON-RPC: the tasks of the examples are not there.
		for _, about := range []string{"get", "cancel", "subscribe"} {
			d.call("alice callAgent 200", agent, example(about))
		}
	}
	d.agentsByHTTP()
	for _, text := range []string{`{`, `{}`, `[]`, `{"jsonrpc":"2.0","id":"x","method":"None"}`, `{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`} {
		d.call("alice callAgent 200", sent("application/json", text))
	}
	d.call("alice callAgent 204", sent("application/json", `{"jsonrpc":"2.0","method":"ListTasks"}`))
	d.call("alice callAgent 200", to(d.p.URL+rest.Root+"/a2a/nl2ql/"), example("list"))
}

// agentsByHTTP has the operations of A2A's HTTP+JSON binding.
func (d *described) agentsByHTTP() {
	var asked struct{ Task struct{ ID string } }
	d.call("alice sendMessage 200").into(d.t, &asked)
	d.call("alice streamMessage 200")
	d.call("alice listTasks 200", query("includeArtifacts=true&pageSize=1"))
	d.call("alice getTask 200", param("task", asked.Task.ID))
	d.call("alice getTask 200", param("task", asked.Task.ID+":subscribe"), header("Last-Event-ID", "1"))
	d.call("alice changeTask 200", param("task", asked.Task.ID+":subscribe"), header("Last-Event-ID", "2"))
	d.call("alice changeTask 400", param("task", asked.Task.ID+":cancel"))
	d.call("alice getExtendedCard 200")
	task := param("task", asked.Task.ID)
	var config struct{ ID string }
	d.call("alice createPushConfig 200", task).into(d.t, &config)
	d.call("alice listPushConfigs 200", task)
	d.call("alice getPushConfig 200", task, param("config", config.ID))
	d.call("alice deletePushConfig 200", task, param("config", config.ID))
	for _, id := range []string{"getLegacyCard", "getOldCard", "getRootCard"} {
		d.call("- " + id + " 200")
	}
	d.call("alice callLegacyAgent 200", example("send"))
	d.call("alice callLegacyAgent 200", example("stream"))
	for _, text := range []string{`{}`, `{"jsonrpc":"2.0","id":"x","method":"tasks/get","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"message/stream","params":{}}`} {
		d.call("alice callLegacyAgent 200", sent("application/json", text))
	}
	d.call("alice callLegacyAgent 204", sent("application/json", `{"jsonrpc":"2.0","method":"tasks/list"}`))
	d.call("bob getTask 404", param("task", asked.Task.ID))
}

func (d *described) service() {
	for _, id := range []string{"getHealth", "getReady", "getMetrics", "getOpenAPI", "getDocs", "getDocsStyle"} {
		d.call("- " + id + " 200")
	}
	page := d.call("- getPage 200").text
	for _, found := range regexp.MustCompile(`assets/([^"]+)"`).FindAllSubmatch(page, -1) {
		file := param("file", string(found[1]))
		seen := d.call("- getPageFile 200", file).header.Get("ETag")
		d.call("- getPageFile 304", file, header("If-None-Match", seen))
	}
	d.call("- getPageFile 404", param("file", "nothing.js"))
	for _, id := range d.order {
		if d.describes(id, http.StatusNotModified) && id != "getPageFile" {
			user := "- "
			if !d.isPublic(id) {
				user = "alice "
			}
			seen := d.call(user + id + " 200").header.Get("ETag")
			d.call(user+id+" 304", header("If-None-Match", seen))
		}
	}
}

// heads sees that what everybody may read can be asked about by HEAD.
func (d *described) heads() {
	for _, id := range d.order {
		op := d.operations[id]
		if op.method != http.MethodGet || !d.isPublic(id) || d.describes(id, http.StatusNotFound) {
			continue
		}
		request, err := http.NewRequestWithContext(d.t.Context(), http.MethodHead, d.p.URL+op.path, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			d.t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			d.t.Errorf("HEAD of %s: %d", id, response.StatusCode)
		}
	}
}

// describes reports whether an operation may be answered with a status.
func (d *described) describes(id string, status int) bool {
	return d.operations[id].at("responses", strconv.Itoa(status)).value != nil
}

func (d *described) endings() {
	d.call("alice revokeNamespaceShare 200")
	d.call("alice revokeDatasetShare 200")
	d.call("alice clearDataset 200")
	d.call("alice renameDataset 409", sent("text/plain", "empty"))
	d.call("alice renameDataset 200")
	d.call("alice deleteDatasetByBalefire 200", param("datasetName", "sales"))
	d.call("alice deleteDataset 204", param("datasetName", "empty"))
	d.call("alice createDataset 201", param("namespace", "sales"))
	d.call("alice renameNamespace 409")
	d.call("alice renameNamespace 200", sent("text/plain", "store"))
	d.call("alice deleteNamespace 409", param("namespace", "store"))
	d.call("alice deleteNamespace 204", param("namespace", "store"), query("deleteDatasets=true"))
}

// withoutTracing rates a run on a server whose tracing store cannot be reached.
func (d *described) withoutTracing() {
	cut := describe(d.t, e2etest.Serve(d.t, d.t.TempDir(), []string{
		"LANGFUSE_HOST=http://127.0.0.1:1", "LANGFUSE_PUBLIC_KEY=public", "LANGFUSE_SECRET_KEY=secret",
	}), "alice")
	cut.call("alice appendRows 200")
	var asked struct{ RunID string }
	cut.call("alice askAndWait 200").into(d.t, &asked)
	cut.call("alice rateRun 502", param("runId", asked.RunID))
	maps.Copy(d.seen["rateRun"], cut.seen["rateRun"])
}
