package objects_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/cors"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"parley/cmd/parley/e2e/helpers/s3test"
	"parley/storage/objects"
)

// TestDocumentedCORS returns a bucket the rule that docs/running.md shows, and
// sends a part from a page of that origin, as a browser would.
func TestDocumentedCORS(t *testing.T) {
	t.Parallel()
	endpoint, access, secret := s3test.Server(t)
	bucket := s3test.Bucket(t)
	address, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	client, err := minio.New(address.Host, &minio.Options{Creds: credentials.NewStaticV4(access, secret, ""), Region: s3test.Region})
	if err != nil {
		t.Fatal(err)
	}
	rule := documentedRule(t)
	if err := client.SetBucketCors(t.Context(), bucket, cors.NewConfig([]cors.Rule{rule})); err != nil {
		t.Fatal(err)
	}
	store, err := objects.OpenS3(objects.S3Config{Bucket: bucket, Endpoint: endpoint, PathStyle: true, AccessKey: access, SecretKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	upload, err := store.Begin(t.Context(), "uploads/one")
	if err != nil {
		t.Fatal(err)
	}
	part, err := store.PartURL(t.Context(), "alice", upload, 1, 4, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	send := func(method string, body string, header map[string]string) http.Header {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, part, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", rule.AllowedOrigin[0])
		for name, value := range header {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode >= 300 || response.Header.Get("Access-Control-Allow-Origin") != rule.AllowedOrigin[0] {
			t.Errorf("%s: %s %v", method, response.Status, response.Header)
		}
		return response.Header
	}
	send(http.MethodOptions, "", map[string]string{"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type"})
	answer := send(http.MethodPut, "rows", map[string]string{"Content-Type": "text/csv"})
	if shown := answer.Get("Access-Control-Expose-Headers"); answer.Get("ETag") == "" || !strings.Contains(shown, "ETag") {
		t.Errorf("the page is shown %q of %v", shown, answer)
	}
}

// documentedRule reads the rule from the document.
func documentedRule(t *testing.T) cors.Rule {
	t.Helper()
	text, err := os.ReadFile("../../docs/running.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```json\n(.*?\"CORSRules\".*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatal("the document shows no rule")
	}
	var document struct {
		CORSRules []struct {
			AllowedOrigins, AllowedMethods, AllowedHeaders, ExposeHeaders []string
			MaxAgeSeconds                                                 int
		}
	}
	if err := json.Unmarshal(found[1], &document); err != nil || len(document.CORSRules) != 1 {
		t.Fatalf("%d rules, %v", len(document.CORSRules), err)
	}
	rule := document.CORSRules[0]
	return cors.Rule{
		AllowedOrigin: rule.AllowedOrigins, AllowedMethod: rule.AllowedMethods, AllowedHeader: rule.AllowedHeaders,
		ExposeHeader: rule.ExposeHeaders, MaxAgeSeconds: rule.MaxAgeSeconds,
	}
}
