package e2etest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/internal/domain"
)

// Client is a user of a running server.
type Client struct {
	*Process
	Token string
}

// Ask sends JSON and decodes the JSON response.
func (c Client) Ask(method, path string, body, into any) int {
	c.T.Helper()
	text := []byte("{}")
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			c.T.Fatal(err)
		}
	}
	status, answer := c.Call(c.Token, method, "/api/v1"+path, string(text))
	if into != nil {
		if err := json.Unmarshal([]byte(answer), into); err != nil {
			c.T.Fatalf("%s %s: %d %s", method, path, status, answer)
		}
	}
	return status
}

// Object is a JSON object.
type Object map[string]any

// uploaded is a file that was uploaded.
type uploaded struct{ SessionID, FileID string }

// Upload sends a file in its parts.
func (c Client) Upload(name string, size int64, content io.Reader) uploaded {
	c.T.Helper()
	var session struct {
		SessionID string
		Files     []struct {
			FileID, UploadID, Key string
			PresignedURLs         []struct {
				URL      string
				PartSize int64
			}
		}
	}
	c.Ask("POST", "/file-upload/prepare", Object{"filesToUpload": []Object{{"filename": name, "size": size}}}, &session)
	file := session.Files[0]
	var parts []Object
	for i, part := range file.PresignedURLs {
		request, err := http.NewRequestWithContext(c.T.Context(), http.MethodPut, part.URL, io.LimitReader(content, part.PartSize))
		if err != nil {
			c.T.Fatal(err)
		}
		request.ContentLength = part.PartSize
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			c.T.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			c.T.Fatalf("part %d: %d", i+1, response.StatusCode)
		}
		parts = append(parts, Object{"partNumber": i + 1, "etag": response.Header.Get("ETag")})
	}
	status := c.Ask("POST", "/file-upload/"+session.SessionID+"/files/"+file.FileID+"/finish",
		Object{"uploadId": file.UploadID, "key": file.Key, "parts": parts}, nil)
	if status != http.StatusOK {
		c.T.Fatalf("finish: %d", status)
	}
	return uploaded{session.SessionID, file.FileID}
}

// Ingestion is an ingestion in a list.
type Ingestion struct {
	ID, Status, StatusMessage string
	ProcessedRows             int64
}

// Ingest starts the ingestion of an uploaded file and returns its id.
func (c Client) Ingest(dataset string, file uploaded) string {
	c.T.Helper()
	var started struct{ ID string }
	c.Ask("POST", "/data/self/"+dataset+"/ingest", Object{"files": []Object{{"sessionId": file.SessionID, "fileId": file.FileID}}}, &started)
	return started.ID
}

// Ingestions lists the ingestions of a dataset.
func (c Client) Ingestions(dataset string) []Ingestion {
	c.T.Helper()
	var list struct{ Data []Ingestion }
	c.Ask("GET", "/data/self/"+dataset+"/ingest/attempts?pageSize=100", nil, &list)
	return list.Data
}

// Settled waits until all ingestions of a dataset have ended.
func (c Client) Settled(dataset string) []Ingestion {
	c.T.Helper()
	var list []Ingestion
	Eventually(c.T, func() bool {
		list = c.Ingestions(dataset)
		return !slices.ContainsFunc(list, func(i Ingestion) bool { return i.Status == "pending" || i.Status == "processing" })
	})
	return list
}

// Count returns the number of rows of a dataset by a query.
func (c Client) Count(dataset string) int64 {
	c.T.Helper()
	namespace, name, _ := strings.Cut(dataset, "/")
	var answer struct{ Data []struct{ N int64 } }
	if status := c.Ask("POST", "/query", Object{"username": "self", "namespace": namespace, "query": "SELECT count(*) AS n FROM " + name}, &answer); status != http.StatusOK {
		return 0
	}
	return answer.Data[0].N
}

// CSV is a table with a number of rows.
func CSV(rows int) string {
	var text strings.Builder
	text.WriteString("id,name,total\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,name %d,%d.5\n", i, i%10, i)
	}
	return text.String()
}

// PeakMemory is the peak memory of the server in bytes.
func (p *Process) PeakMemory() int64 {
	p.T.Helper()
	return PeakMemory(p.T, p.Cmd.Process.Pid)
}

// PeakMemory is the peak memory of a process in bytes.
func PeakMemory(t testing.TB, pid int) int64 {
	t.Helper()
	peak := benchtest.Memory(pid, "VmHWM")
	if peak == 0 {
		t.Skip("the kernel does not report the memory of a process")
	}
	return peak
}

// Metrics returns the metrics of a server by name and labels.
func (c Client) Metrics() map[string]float64 {
	c.T.Helper()
	_, text := c.Call("", http.MethodGet, "/metrics", "")
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			c.T.Fatalf("%q: %v", line, err)
		}
		values[name] = n
	}
	return values
}

// Answered asks the assistant a question and returns the id of the task.
func (c Client) Answered() string {
	c.T.Helper()
	var answer struct{ RunID string }
	c.Ask("POST", "/query/autorag", Object{"username": "self", "namespace": "shop", "query": "How many orders are there?"}, &answer)
	if answer.RunID == "" {
		c.T.Fatal("no answer")
	}
	return answer.RunID
}

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// RPCBody is a JSON-RPC request.
func RPCBody(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}`, method, params)
}

// Message has the parameters of a question over A2A, with more members of the message.
func Message(members string) string {
	return `{"message":{"messageId":"` + domain.NewID() + `","role":"ROLE_USER","parts":[{"text":"How many orders are there?"}],` + members + `}}`
}

// Asked is a run.
type Asked struct{ Agent, Task, Context string }

// SendMessage asks over A2A, waits for the answer and returns its body too.
func (c Client) SendMessage(agent, params string) (Asked, string) {
	c.T.Helper()
	_, answer := c.Call(c.Token, "POST", "/api/v1/a2a/"+agent, RPCBody("SendMessage", params))
	var read struct {
		Result struct {
			Task struct {
				ID, ContextID string
				Status        struct{ State string }
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &read); err != nil || read.Result.Task.Status.State != "TASK_STATE_COMPLETED" {
		c.T.Fatalf("%s: %v %s", agent, err, answer)
	}
	return Asked{agent, read.Result.Task.ID, read.Result.Task.ContextID}, answer
}

// NewDataset creates a dataset with two rows.
func (c Client) NewDataset(namespace, name string) {
	c.T.Helper()
	if status := c.Ask("POST", "/ingest/new/"+namespace+"/"+name, nil, nil); status != http.StatusCreated {
		c.T.Fatalf("new dataset: %d", status)
	}
	if status := c.Ask("POST", "/ingest/"+namespace+"/"+name, Object{"data": []Object{{"id": 1, "town": "Rome"}, {"id": 2, "town": "Berlin"}}}, nil); status != http.StatusOK {
		c.T.Fatalf("rows: %d", status)
	}
}
