package command

import (
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"parley/internal/domain"
)

// Flags is an option of a parser that decodes flags by their types and records what is
// wrong. The parser itself would report the first problem alone.
//
// Numbers and durations must be positive, with the tag min:"0" also zero. An int64 is a
// number of bytes. The tag type selects others: list (separated by commas or spaces), age
// (a duration, also in days; forever is zero), confidence.
type Flags struct {
	// given has the flags of the command line, others those of variables and defaults;
	// "" for no problem.
	given, others map[*kong.Value]string
}

// minAge is the shortest age: nothing uses a record for that long.
const minAge = time.Hour

// Apply implements kong.Option.
func (f *Flags) Apply(k *kong.Kong) error {
	f.given, f.others = map[*kong.Value]string{}, map[*kong.Value]string{}
	for _, option := range []kong.Option{
		kong.KindMapper(reflect.Bool, decoder(f, "must be true or false", func(text string, _ int) (bool, bool) {
			on, err := strconv.ParseBool(text)
			return on, err == nil || text == ""
		})),
		kong.KindMapper(reflect.Int, decoder(f, "must be a number from %d on", func(text string, least int) (int, bool) {
			n, err := strconv.Atoi(text)
			return n, err == nil && n >= least
		})),
		kong.KindMapper(reflect.Int64, decoder(f, "must be a number of bytes", func(text string, least int) (int64, bool) {
			n, err := strconv.ParseInt(text, 10, 64)
			return n, err == nil && n >= int64(least)
		})),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), decoder(f, "must be a duration such as 30s or 24h", func(text string, least int) (time.Duration, bool) {
			d, err := time.ParseDuration(text)
			return d, err == nil && d >= time.Duration(least)
		})),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), decoder(f, "must be debug, info, warn or error", func(text string, _ int) (level slog.Level, ok bool) {
			err := level.UnmarshalText([]byte(text))
			return level, err == nil
		})),
		kong.NamedMapper("confidence", decoder(f, "must be a number from 0 to 1", func(text string, _ int) (float64, bool) {
			least, err := strconv.ParseFloat(text, 64)
			return least, err == nil && domain.CheckConfidence(least) == ""
		})),
		kong.NamedMapper("age", decoder(f, "must be forever, or a duration such as 90d or 12h, an hour at least", func(text string, _ int) (time.Duration, bool) {
			if days, err := strconv.ParseUint(strings.TrimSuffix(text, "d"), 10, 16); err == nil && strings.HasSuffix(text, "d") {
				text = fmt.Sprint(24*days, "h")
			}
			age, err := time.ParseDuration(text)
			return age, text == "forever" || err == nil && age >= minAge
		})),
		kong.NamedMapper("list", decoder(f, "", func(text string, _ int) ([]string, bool) {
			return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), true
		})),
	} {
		if err := option.Apply(k); err != nil {
			return err
		}
	}
	return nil
}

// Problems returns what is wrong with the flags of the selected command.
func (f *Flags) Problems(parsed *kong.Context) (problems []string) {
	for _, flag := range parsed.Flags() {
		problem, given := f.given[flag.Value]
		if !given {
			problem = f.others[flag.Value]
		}
		if problem != "" {
			problems = append(problems, flagText(flag)+" "+problem)
		}
	}
	return problems
}

// flagText names a flag and its variable.
func flagText(flag *kong.Flag) string {
	if len(flag.Envs) == 0 {
		return "--" + flag.Name
	}
	return "--" + flag.Name + " (" + flag.Envs[0] + ")"
}

// negative matches the start of a negative number or duration. The parser would take it for
// a flag, and report nothing else.
var negative = regexp.MustCompile(`^-[0-9.]`)

// decoder decodes values with parse, which reports whether a text is as it must be. least
// is the tag min, 1 by default.
func decoder[T any](f *Flags, must string, parse func(text string, least int) (T, bool)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		text, least, problem := "true", 1, "" // true is a bool without a value
		if target.Kind() != reflect.Bool || ctx.Scan.Peek().Type == kong.FlagValueToken {
			if negative.MatchString(ctx.Scan.Peek().String()) {
				text = ctx.Scan.Pop().String()
			} else if err := ctx.Scan.PopValueInto("value", &text); err != nil {
				return err
			}
		}
		if ctx.Value.Tag.Get("min") == "0" {
			least = 0
		}
		value, ok := parse(text, least)
		if !ok {
			problem = fmt.Sprintf("%s, not %q", strings.ReplaceAll(must, "%d", strconv.Itoa(least)), text)
		}
		// Values of the command line are decoded first, and not into the field.
		if field := ctx.Value.Target; target.CanAddr() && field.Addr().Pointer() == target.Addr().Pointer() {
			f.others[ctx.Value] = problem
		} else {
			f.given[ctx.Value] = problem
		}
		target.Set(reflect.ValueOf(value).Convert(target.Type()))
		return nil
	}
}
