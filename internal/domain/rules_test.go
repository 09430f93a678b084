package domain_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/internal/domain"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"a": true, "_": true, "9lives": true, "a.b-c_d": true, strings.Repeat("x", 128): true,
		"": false, "-a": false, ".a": false, "..": false, "a b": false, "a/b": false, "ä": false,
		"a\x00": false, "a\n": false, "\xff": false, strings.Repeat("x", 129): false,
	} {
		if problem := domain.CheckName(name); (problem == "") != valid {
			t.Errorf("%.20q: %q", name, problem)
		}
	}
}

// The page makes the same names: names.ts and its test.
func TestCleanName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Orders 2025 (final)": "Orders_2025_final",
		"données":             "donnees",
		"Straße":              "Stra_e",
		"日本":                  "data_9f26ee51",
		"中国":                  "data_0b910c6f",
		"2024 Москва":         "2024_7c19a663",
		"📊":                   "data_6f962889",
		"":                    "data",
		strings.Repeat("я", 3) + strings.Repeat("x", 200): strings.Repeat("x", 91) + "_df06a3a9",
	} {
		if got := domain.CleanName(text); got != want || domain.CheckName(got) != "" {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// A long name of a file leaves the hash of a table's name.
func TestTableName(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]string{
		"May": strings.Repeat("x", 124) + "_May",
		"日本":  strings.Repeat("x", 114) + "_data_9f26ee51",
	} {
		if got := domain.TableName(strings.Repeat("x", 128), table); got != want || domain.CheckName(got) != "" {
			t.Errorf("%q becomes %q, want %q", table, got, want)
		}
	}
	if got := domain.TableName("book", "May"); got != "book_May" {
		t.Errorf("got %q", got)
	}
}

func TestUniqueName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 128)
	taken := []string{"c_data", "C_data_2", "c_other_2", long}
	for name, want := range map[string]string{"c_data": "c_data_3", "c_Data": "c_Data_3", "c_other": "c_other", "c_other_2": "c_other_2_2", long: long[:100] + "_2"} {
		got := domain.UniqueName(name, func(name string) bool {
			return slices.ContainsFunc(taken, func(other string) bool { return strings.EqualFold(other, name) })
		})
		if got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "żół": "żół", "żółw": "żół…", "ab日本": "ab日…", "abcd日": "abcd…"} {
		if got := domain.Truncate(text, 6); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}

func TestCheckUsername(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"alice": true, "alice@example.com": true, "auth0|x": true, "ärzte": true, strings.Repeat("ä", 256): true,
		"": false, "self": false, "a b": false, "a/b": false, "a\x00": false, "a\x7f": false, "\xff": false,
		"a\u2028b": false, strings.Repeat("x", 257): false,
		"a\u200bb": false, "a\u200d": false, "\ufeffa": false, "a\u00adb": false, "\u202ea": false, "a\u2066": false, "a\u061c": false,
		"a\u034fb": false, "\u3164": false, "a\ufe0f": false, "a\U000e0041": false,
		"jose\u0301": false, "\u212aate": false, "jos\u00e9": true, "\u4e2d\u6587": true, "h\u0332": true,
	} {
		if problem := domain.CheckUsername(name); (problem == "") != valid {
			t.Errorf("%.20q: %q", name, problem)
		}
	}
}

func TestNormalUsername(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Alice": "alice", "ÄRZTE": "ärzte", "\u212Aate": "\u212Aate", "\u0130da": "\u0130da", "\xff": "\xff", "SELF": "self",
		"Jose\u0301": "jos\u00e9", "JOS\u00c9": "jos\u00e9", "I\u0307da": "\u0130da", "H\u0331": "\u1e96", "\u212bsa": "\u00e5sa",
	} {
		if got := domain.NormalizeUsername(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// A name has one normal form, however its characters were put together, and it is
// never another user's name in ASCII.
func TestNormalUsernameIsOne(t *testing.T) {
	t.Parallel()
	for r := rune(0x21); r < 0x3000; r++ {
		for _, name := range []string{string(r), string(r) + "\u0307", string(r) + "\u0331\u0301"} {
			normal := domain.NormalizeUsername(name)
			if domain.CheckUsername(normal) != "" {
				continue
			}
			if again := domain.NormalizeUsername(normal); again != normal {
				t.Errorf("%+q becomes %+q, then %+q", name, normal, again)
			}
			if apart := domain.NormalizeUsername(norm.NFD.String(name)); apart != normal {
				t.Errorf("%+q becomes %+q, taken apart %+q", name, normal, apart)
			}
			if r >= utf8.RuneSelf && normal[0] < utf8.RuneSelf && norm.NFD.String(name)[0] >= utf8.RuneSelf {
				t.Errorf("%+q becomes %+q", name, normal)
			}
		}
	}
}

func TestDefinitionLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("𝄞", domain.MaxDescription)
	if wrong := (domain.Definition{Description: &long}).Check(); len(wrong) > 0 {
		t.Errorf("%d characters of four bytes: %v", domain.MaxDescription, wrong)
	}
	long += "𝄞"
	wrong := domain.Definition{
		Description: &long,
		Schema:      map[string]string{"": "no name", "b": "with \x00", "a": strings.Repeat("x", 10_001), "fine": ""},
	}.Check()
	var fields []string
	for _, f := range wrong {
		fields = append(fields, f.Field)
	}
	if got, want := strings.Join(fields, " "), "dataDescription schemaDefinition schemaDefinition.a schemaDefinition.b"; got != want {
		t.Errorf("wrong fields: got %q, want %q", got, want)
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 79)
	for question, want := range map[string]string{
		"  How \n many? ":            "How many?",
		"":                           "",
		word + " y":                  word,
		word + "y z":                 word + "y",
		strings.Repeat("ä", 100):     strings.Repeat("ä", 80),
		strings.Repeat("four ", 40):  strings.TrimSpace(strings.Repeat("four ", 16)),
		strings.Repeat("five5 ", 40): strings.TrimSpace(strings.Repeat("five5 ", 13)),
	} {
		if got := domain.Title(question); got != want {
			t.Errorf("%.30q: got %q, want %q", question, got, want)
		}
	}
}

func FuzzTitle(f *testing.F) {
	f.Add("How many orders were there in May?")
	f.Add(strings.Repeat("ä ", 90))
	f.Fuzz(func(t *testing.T, question string) {
		title := domain.Title(question)
		if utf8.RuneCountInString(title) > 80 || strings.TrimSpace(title) != title || strings.ContainsAny(title, "\r\n\t") {
			t.Errorf("%q gave %q", question, title)
		}
		if utf8.ValidString(question) && !utf8.ValidString(title) {
			t.Errorf("%q lost its encoding: %q", question, title)
		}
	})
}

func TestCheckQuestion(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		"How many?": true, strings.Repeat("x", domain.MaxQuestion): true, "a\tb\nä": true,
		"": false, " \t\n": false, strings.Repeat("x", domain.MaxQuestion+1): false, strings.Repeat("ä", domain.MaxQuestion/2+1): false,
		"a\x00": false, "a\xff": false,
	} {
		if problem := domain.CheckQuestion(text); (problem == "") != valid {
			t.Errorf("%.20q: %q", text, problem)
		}
	}
}

func TestCheckSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		check func(string) string
		limit int
	}{"helper prompt": {domain.CheckHelperPrompt, 10_000}, "model": {domain.CheckModelName, 200}} {
		for text, valid := range map[string]bool{
			"": true, strings.Repeat("ä", test.limit): true,
			strings.Repeat("x", test.limit+1): false, "a\x00": false, "\xff": false,
		} {
			if problem := test.check(text); (problem == "") != valid {
				t.Errorf("%s %.20q: %q", name, text, problem)
			}
		}
	}
}
