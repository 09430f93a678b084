package command

import (
	"fmt"
	"log/slog"
	"reflect"
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

// Apply implements kong.Option.
func (f *Flags) Apply(k *kong.Kong) error {
	f.given, f.others = map[*kong.Value]string{}, map[*kong.Value]string{}
	for _, option := range []kong.Option{
		kong.KindMapper(reflect.Bool, decoder(f, parseBool)),
		kong.KindMapper(reflect.Int, decoder(f, parseCount)),
		kong.KindMapper(reflect.Int64, decoder(f, parseBytes)),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), decoder(f, parseDuration)),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), decoder(f, parseLevel)),
		kong.NamedMapper("list", decoder(f, parseList)),
		kong.NamedMapper("age", decoder(f, parseAge)),
		kong.NamedMapper("confidence", decoder(f, parseConfidence)),
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

// decoder decodes values with parse, which returns what is wrong with a text, "" for
// nothing. least is the tag min, 1 by default.
func decoder[T any](f *Flags, parse func(text string, least int) (T, string)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		text := "true" // of a bool without a value
		if target.Kind() != reflect.Bool || ctx.Scan.Peek().Type == kong.FlagValueToken {
			token, err := ctx.Scan.PopValue("value")
			if err != nil {
				return err
			}
			text = token.String()
		}
		least := 1
		if ctx.Value.Tag.Get("min") == "0" {
			least = 0
		}
		value, problem := parse(text, least)
		if problem != "" {
			problem = fmt.Sprintf("%s, not %q", problem, text)
		}
		// Values of the command line are decoded first, and not into the field.
		if field := ctx.Value.Target; field.CanAddr() && target.CanAddr() && field.Addr().Pointer() == target.Addr().Pointer() {
			f.others[ctx.Value] = problem
		} else {
			f.given[ctx.Value] = problem
		}
		target.Set(reflect.ValueOf(value).Convert(target.Type()))
		return nil
	}
}

func parseBool(text string, _ int) (bool, string) {
	on, err := strconv.ParseBool(text)
	if err != nil && text != "" {
		return false, "must be true or false"
	}
	return on, ""
}

func parseCount(text string, least int) (int, string) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Sprintf("must be a number from %d on", least)
	}
	return n, ""
}

func parseBytes(text string, least int) (int64, string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < int64(least) {
		return 0, "must be a number of bytes"
	}
	return n, ""
}

func parseDuration(text string, least int) (time.Duration, string) {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Duration(least) {
		return 0, "must be a duration such as 30s or 24h"
	}
	return d, ""
}

// minAge is the shortest age: nothing uses a record for that long.
const minAge = time.Hour

func parseAge(text string, _ int) (time.Duration, string) {
	if text == "forever" {
		return 0, ""
	}
	age, err := time.ParseDuration(text)
	if days, inDays := strings.CutSuffix(text, "d"); inDays {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		age = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || age < minAge {
		return 0, "must be forever, or a duration such as 90d or 12h, an hour at least"
	}
	return age, ""
}

func parseLevel(text string, _ int) (level slog.Level, problem string) {
	if level.UnmarshalText([]byte(text)) != nil {
		problem = "must be debug, info, warn or error"
	}
	return level, problem
}

func parseList(text string, _ int) ([]string, string) {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), ""
}

func parseConfidence(text string, _ int) (float64, string) {
	least, err := strconv.ParseFloat(text, 64)
	if err != nil || domain.CheckConfidence(least) != "" {
		return 0, "must be a number from 0 to 1"
	}
	return least, ""
}
