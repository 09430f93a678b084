package objects_test

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/objects"
)

func TestUploadInParts(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		content := random(2*8<<20 + 12345)
		plan, bodies := cut(content, 8<<20)
		upload := begin(t, h, "uploads/a/file.csv")
		parts := make([]objects.Part, len(bodies))
		for _, i := range []int{2, 0, 1} { // in any order
			parts[i] = sendPart(t, h, upload, i+1, bodies[i])
			if want := fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(bodies[i]))); parts[i].ETag != want {
				t.Errorf("part %d has ETag %s, want %s", i+1, parts[i].ETag, want)
			}
		}
		wantMissing(t, h, upload.Key)

		slices.Reverse(parts) // named in any order
		if err := h.Complete(t.Context(), upload, plan, parts); err != nil {
			t.Fatalf("complete: %v", err)
		}
		if !bytes.Equal(read(t, h, upload.Key), content) {
			t.Error("the object has other bytes than were sent")
		}
		if got := send(t, http.MethodPut, partURL(t, h, upload, 1, 4), []byte("late")); got.status != http.StatusNotFound {
			t.Errorf("a part after completion was answered %+v", got)
		}
	})
}

func TestPartSentAgain(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		upload := begin(t, h, "again")
		first := sendPart(t, h, upload, 1, []byte("first try"))
		second := sendPart(t, h, upload, 1, []byte("other try"))
		if first.ETag == second.ETag {
			t.Fatalf("both have ETag %s", first.ETag)
		}
		plan := objects.Plan{Size: 9, PartSize: h.small}
		err := h.Complete(t.Context(), upload, plan, []objects.Part{first})
		wantKind(t, err, domain.ErrInvalid)
		// ETags without quotes, and in capitals, are the same.
		second.ETag = strings.ToUpper(strings.Trim(second.ETag, `"`))
		if err := h.Complete(t.Context(), upload, plan, []objects.Part{second}); err != nil {
			t.Fatalf("complete: %v", err)
		}
		if got := read(t, h, "again"); string(got) != "other try" {
			t.Errorf("the object is %q", got)
		}
	})
}

func TestCompleteNamesWrongParts(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		s := sendAll(t, h, "wrong/parts", 2*h.small+7)
		p := s.parts
		other := objects.Part{Number: 2, ETag: p[0].ETag}
		longer, shorter := s.plan, s.plan
		longer.Size += h.small
		shorter.Size -= 1
		for name, tt := range map[string]struct {
			plan  objects.Plan
			parts []objects.Part
			want  string // fields, in order
		}{
			"no parts":      {s.plan, nil, "part 1,part 2,part 3"},
			"first missing": {s.plan, p[1:], "part 1"},
			"last missing":  {s.plan, p[:2], "part 3"},
			"doubled":       {s.plan, []objects.Part{p[0], p[1], p[1], p[1], p[2]}, "part 2"},
			"wrong ETag":    {s.plan, []objects.Part{p[0], other, p[2]}, "part 2"},
			"no ETag":       {s.plan, []objects.Part{p[0], {Number: 2}, p[2]}, "part 2"},
			"wrong number":  {s.plan, []objects.Part{p[0], p[1], p[2], {Number: 4, ETag: p[0].ETag}}, "part 4"},
			"number zero":   {s.plan, []objects.Part{{Number: 0, ETag: p[0].ETag}, p[1], p[2]}, "part 0,part 1"},
			"not sent":      {longer, []objects.Part{p[0], p[1], p[2], {Number: 4, ETag: p[0].ETag}}, "part 3,part 4"},
			"wrong size":    {shorter, p, "part 3"},
			"several":       {s.plan, []objects.Part{other, other}, "part 2,part 1,part 3"},
			"senseless":     {objects.Plan{}, p, "plan"},
			"too many":      {objects.Plan{Size: domain.MaxParts + 1, PartSize: 1}, p, "plan"},
		} {
			err := h.Complete(t.Context(), s.upload, tt.plan, tt.parts)
			wantKind(t, err, domain.ErrInvalid)
			if got := fields(err); got != tt.want {
				t.Errorf("%s: named %q, want %q (%v)", name, got, tt.want, err)
			}
		}
		wantMissing(t, h, s.upload.Key)
		if err := h.Complete(t.Context(), s.upload, s.plan, p); err != nil {
			t.Fatalf("complete with the right parts: %v", err)
		}
		if !bytes.Equal(read(t, h, s.upload.Key), s.content) {
			t.Error("the object has other bytes than were sent")
		}
	})
}

func fields(err error) string {
	invalid, ok := err.(*domain.Error)
	if !ok {
		return ""
	}
	var names []string
	for _, f := range invalid.Fields {
		names = append(names, f.Field)
	}
	return strings.Join(names, ",")
}

func TestPartOfWrongSize(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		upload := begin(t, h, "sizes")
		for _, size := range []int{0, 99, 101, 5000} {
			got := send(t, http.MethodPut, partURL(t, h, upload, 1, 100), random(size))
			if got.status != http.StatusUnprocessableEntity && got.status != http.StatusForbidden {
				t.Errorf("%d bytes for 100 were answered %+v", size, got)
			}
			err := h.Complete(t.Context(), upload, objects.Plan{Size: 100, PartSize: h.small}, []objects.Part{{Number: 1, ETag: "x"}})
			wantKind(t, err, domain.ErrInvalid)
			if err != nil && !strings.Contains(err.Error(), "missing") {
				t.Errorf("the part of %d bytes was kept: %v", size, err)
			}
		}
	})
}

// TestStored goes on with an upload that was broken off, by what the home says it
// has.
func TestStored(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		content := random(int(3*h.small + 7))
		plan, bodies := cut(content, h.small)
		upload := begin(t, h, "uploads/broken/off")
		has := func(want ...int) []objects.Part {
			t.Helper()
			parts, err := h.Stored(t.Context(), upload, plan)
			if err != nil {
				t.Fatalf("stored: %v", err)
			}
			var got []int
			for _, part := range parts {
				got = append(got, part.Number)
			}
			if !slices.Equal(got, want) {
				t.Errorf("the home has parts %v, want %v", got, want)
			}
			return parts
		}
		has()
		sendPart(t, h, upload, 4, bodies[3])
		sendPart(t, h, upload, 2, bodies[1])
		sendPart(t, h, upload, 3, []byte("another size"))
		has(2, 4)
		sendPart(t, h, upload, 3, bodies[2])
		sendPart(t, h, upload, 1, bodies[0])
		if err := h.Complete(t.Context(), upload, plan, has(1, 2, 3, 4)); err != nil {
			t.Fatalf("complete: %v", err)
		}
		if !bytes.Equal(read(t, h, upload.Key), content) {
			t.Error("the object has other bytes than were sent")
		}
		for name, gone := range map[string]objects.Upload{"completed": upload, "unknown": {Key: "other", ID: upload.ID}} {
			if parts, err := h.Stored(t.Context(), gone, plan); !errors.Is(err, domain.ErrNotFound) || len(parts) > 0 {
				t.Errorf("%s: got %v, %v", name, parts, err)
			}
		}
	})
}

// TestStoredOfManyParts lists more parts than a bucket tells at a time.
func TestStoredOfManyParts(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		const count = 1003
		upload := begin(t, h, "uploads/many")
		for number := 1; number <= count; number++ {
			sendPart(t, h, upload, number, []byte("x"))
		}
		parts, err := h.Stored(t.Context(), upload, objects.Plan{Size: count, PartSize: 1})
		if err != nil || len(parts) != count || parts[count-1].Number != count {
			t.Errorf("got %d parts, %v", len(parts), err)
		}
	})
}

func TestAbort(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		s := sendAll(t, h, "aborted", h.small+1)
		for range 2 {
			if err := h.Abort(t.Context(), s.upload); err != nil {
				t.Fatalf("abort: %v", err)
			}
		}
		if got := send(t, http.MethodPut, partURL(t, h, s.upload, 1, 4), []byte("late")); got.status != http.StatusNotFound {
			t.Errorf("a part after the abort was answered %+v", got)
		}
		err := h.Complete(t.Context(), s.upload, s.plan, s.parts)
		wantKind(t, err, domain.ErrNotFound)
		wantMissing(t, h, "aborted")
		for _, upload := range []objects.Upload{{}, {Key: "a"}, {Key: "../a", ID: "x"}, {Key: "aborted", ID: "../../x"}} {
			if err := h.Abort(t.Context(), upload); err != nil {
				t.Errorf("abort %+v: %v", upload, err)
			}
		}
	})
}

func TestAbortLeavesObject(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		s := sendAll(t, h, "kept", 10)
		if err := h.Complete(t.Context(), s.upload, s.plan, s.parts); err != nil {
			t.Fatalf("complete: %v", err)
		}
		if err := h.Abort(t.Context(), s.upload); err != nil {
			t.Fatalf("abort: %v", err)
		}
		if !bytes.Equal(read(t, h, "kept"), s.content) {
			t.Error("the object has changed")
		}
	})
}

func TestCompleteTwice(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		s := sendAll(t, h, "twice", h.small+1)
		for range 2 {
			if err := h.Complete(t.Context(), s.upload, s.plan, s.parts); err != nil {
				t.Fatalf("complete: %v", err)
			}
		}
		if !bytes.Equal(read(t, h, "twice"), s.content) {
			t.Error("the object has other bytes than were sent")
		}
		err := h.Complete(t.Context(), s.upload, s.plan, []objects.Part{s.parts[0], {Number: 2, ETag: s.parts[0].ETag}})
		wantKind(t, err, domain.ErrNotFound)
		if err := h.Delete(t.Context(), "twice"); err != nil {
			t.Fatalf("delete: %v", err)
		}
		err = h.Complete(t.Context(), s.upload, s.plan, s.parts)
		wantKind(t, err, domain.ErrNotFound)
	})
}

func TestCompleteConcurrently(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		s := sendAll(t, h, "race", h.small+1)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := h.Complete(t.Context(), s.upload, s.plan, s.parts); err != nil {
					t.Errorf("complete: %v", err)
				}
			})
		}
		wg.Wait()
		if !bytes.Equal(read(t, h, "race"), s.content) {
			t.Error("the object has other bytes than were sent")
		}
	})
}

func TestUnknownUpload(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		s := sendAll(t, h, "known", 10)
		for _, upload := range []objects.Upload{
			{Key: "known", ID: strings.Repeat("A", len(s.upload.ID))},
			{Key: "known", ID: "../" + s.upload.ID},
			{Key: "known"},
			{Key: "unknown", ID: s.upload.ID},
		} {
			err := h.Complete(t.Context(), upload, s.plan, s.parts)
			wantKind(t, err, domain.ErrNotFound)
			address, err := h.PartURL(t.Context(), "alice", upload, 1, 4, time.Minute)
			if upload.ID == "" {
				wantKind(t, err, domain.ErrNotFound)
			} else if got := send(t, http.MethodPut, address, []byte("part")); got.status != http.StatusNotFound {
				t.Errorf("a part for %+v was answered %+v", upload, got)
			}
		}
	})
}

func TestPartURLRefusesNonsense(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		upload := objects.Upload{Key: "k", ID: "x"}
		for _, tt := range []struct {
			upload objects.Upload
			number int
			size   int64
			ttl    time.Duration
		}{
			{upload, 0, 1, time.Minute}, {upload, domain.MaxParts + 1, 1, time.Minute},
			{upload, 1, 0, time.Minute}, {upload, 1, -1, time.Minute}, {upload, 1, 1, 0},
			{objects.Upload{Key: "../k", ID: "x"}, 1, 1, time.Minute},
		} {
			_, err := h.PartURL(t.Context(), "alice", tt.upload, tt.number, tt.size, tt.ttl)
			wantKind(t, err, domain.ErrInvalid)
		}
	})
}

func TestAddressTampering(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		upload := begin(t, h, "target")
		address, err := url.Parse(partURL(t, h, upload, 1, 4))
		if err != nil {
			t.Fatalf("parse the address: %v", err)
		}
		refused := func(what, method, address string) {
			t.Helper()
			got := send(t, method, address, []byte("part"))
			switch {
			case got.status == http.StatusForbidden || got.status == http.StatusBadRequest:
			case got.status == http.StatusNotFound && strings.HasPrefix(what, "X-Amz-Credential="): // versitygw's way
			default:
				t.Errorf("%s: answered %+v", what, got)
			}
		}
		for name, values := range address.Query() {
			for _, value := range []string{"", values[0] + "0", "1" + values[0], values[0][1:]} {
				query := address.Query()
				query.Set(name, value)
				changed := *address
				changed.RawQuery = query.Encode()
				refused(name+"="+value, http.MethodPut, changed.String())
			}
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			refused(method, method, address.String())
		}
		if got := send(t, http.MethodPut, address.String(), []byte("part")); got.status != http.StatusOK {
			t.Errorf("as it was given: answered %+v", got)
		}
	})
}

func TestAddressExpires(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		upload := begin(t, h, "soon")
		address, err := h.PartURL(t.Context(), "alice", upload, 1, 4, time.Second)
		if err != nil {
			t.Fatalf("address: %v", err)
		}
		waittest.Until(t, "the address has expired", func() bool {
			return send(t, http.MethodPut, address, []byte("part")).status == http.StatusForbidden
		})
	})
}
