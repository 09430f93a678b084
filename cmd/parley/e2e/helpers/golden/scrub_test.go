package golden

import "testing"

func TestScrub(t *testing.T) {
	t.Parallel()
	const (
		a = "0190163d-8694-739b-aea5-966c26f8ad91"
		b = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
	)
	for _, tt := range []struct {
		name, in, want string
	}{
		{"uuids in order of appearance", `["` + b + `","` + a + `","` + b + `"]`, `["<uuid-1>","<uuid-2>","<uuid-1>"]`},
		{"uuid in another case", a + " 0190163D-8694-739B-AEA5-966C26F8AD91", "<uuid-1> <uuid-1>"},
		{"uuid with a prefix and in a path", "/runs/run_" + a + "/events", "/runs/run_<uuid-1>/events"},
		{"no uuid", "0190163d-8694-739b-aea5-966c26f8ad9", "0190163d-8694-739b-aea5-966c26f8ad9"},
		{"times", `"2026-01-02T03:04:05Z" 2026-01-02T03:04:05.678901+02:00,`, `"<time>" <time>,`},
		{"date alone", "2026-01-02", "2026-01-02"},
		{"milliseconds", `{"createdAt":1767323045678,"updatedAt": 1767323045999}`, `{"createdAt":<ms>,"updatedAt": <ms>}`},
		{"milliseconds in a string of JSON", `{"text":"{\"createdAt\":1767323045678}"}`, `{"text":"{\"createdAt\":<ms>}"}`},
		{"milliseconds as a string", `{"createdAt":"1767323045678"}`, `{"createdAt":"1767323045678"}`},
		{"seconds", `{"createdAt":1767323045}`, `{"createdAt":1767323045}`},
		{"other fields", `{"recreatedAt":1767323045678,"rows":1767323045678}`, `{"recreatedAt":1767323045678,"rows":1767323045678}`},
		{"token", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln_-A\n", "Bearer <jwt>\n"},
		{"unsigned token", `"eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."`, `"<jwt>"`},
		{"hosts", "http://127.0.0.1:40123/a localhost:80 [::1]:65535", "http://<host>/a <host> <host>"},
		{"hosts elsewhere", "db.test:5432 localhost mylocalhost:80 10.0.0.1:80", "db.test:5432 localhost mylocalhost:80 10.0.0.1:80"},
		{"nothing", "plain text, 42", "plain text, 42"},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := []byte(tt.in)
			if got := string(Scrub(in)); got != tt.want {
				t.Errorf("Scrub(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if string(in) != tt.in {
				t.Errorf("Scrub changed its argument to %q", in)
			}
		})
	}
}
