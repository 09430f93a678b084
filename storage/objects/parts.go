package objects

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strings"

	"parley/internal/domain"
)

// storedPart is a part as the store has it.
type storedPart struct {
	etag string
	size int64
}

// inPlan returns the stored parts that have the plan's sizes, by number.
func inPlan(plan Plan, stored map[int]storedPart) []Part {
	var parts []Part
	for number := 1; number <= min(plan.Parts(), domain.MaxParts); number++ {
		if has, there := stored[number]; there && has.size == plan.Part(number) {
			parts = append(parts, Part{Number: number, ETag: has.etag})
		}
	}
	return parts
}

// checkParts compares the parts that a client names, and the stored ones, with the plan.
// It returns every problem, or the ETags in order.
func checkParts(plan Plan, parts []Part, stored map[int]storedPart) ([]string, error) {
	etags, wrong := namedParts(plan, parts)
	for i, etag := range etags {
		number := i + 1
		has, there := stored[number]
		switch want := plan.Part(number); {
		case etag == "": // is among the problems
		case !there:
			wrong = append(wrong, wrongPart(number, "is missing: it was not sent"))
		case has.etag != etag:
			wrong = append(wrong, wrongPart(number, "has another ETag than the one given"))
		case has.size != want:
			wrong = append(wrong, wrongPart(number, fmt.Sprintf("has %d bytes and must have %d", has.size, want)))
		}
	}
	if len(wrong) > 0 {
		return nil, domain.Invalid(wrong...)
	}
	return etags, nil
}

// namedParts puts the ETags in order, "" where there is a problem.
func namedParts(plan Plan, parts []Part) (etags []string, wrong []domain.FieldError) {
	count := plan.Parts()
	if count == 0 || count > domain.MaxParts {
		return nil, []domain.FieldError{{Field: "plan", Message: fmt.Sprintf("must make 1 to %d parts", domain.MaxParts)}}
	}
	etags = make([]string, count)
	seen := map[int]int{}
	for _, part := range parts {
		seen[part.Number]++
		etag := normalETag(part.ETag)
		switch {
		case seen[part.Number] > 2: // is among the problems
		case seen[part.Number] == 2:
			if part.Number >= 1 && part.Number <= count {
				etags[part.Number-1] = ""
			}
			wrong = append(wrong, wrongPart(part.Number, "is there more than once"))
		case part.Number < 1 || part.Number > count:
			wrong = append(wrong, wrongPart(part.Number, fmt.Sprintf("is none of the parts 1 to %d", count)))
		case etag == "":
			wrong = append(wrong, wrongPart(part.Number, "has no ETag"))
		default:
			etags[part.Number-1] = etag
		}
	}
	for number := 1; number <= count; number++ {
		if seen[number] == 0 {
			wrong = append(wrong, wrongPart(number, "is missing"))
		}
	}
	return etags, wrong
}

func wrongPart(number int, message string) domain.FieldError {
	return domain.FieldError{Field: fmt.Sprintf("part %d", number), Message: message}
}

// normalETag removes quotes and capitals, in which clients differ.
func normalETag(etag string) string {
	return strings.ToLower(strings.Trim(etag, `"`))
}

// objectETag is the ETag of the object that the parts make; "" if they make none.
func objectETag(plan Plan, parts []Part) string {
	etags, wrong := namedParts(plan, parts)
	if len(wrong) > 0 {
		return ""
	}
	return joinETags(etags)
}

// joinETags returns S3's ETag of an object made of parts: the MD5 of their MD5s, and their
// number. It is "" where a part's ETag is not an MD5.
func joinETags(etags []string) string {
	joined := md5.New()
	for _, etag := range etags {
		sum, err := hex.DecodeString(etag)
		if err != nil || len(sum) != md5.Size {
			return ""
		}
		joined.Write(sum)
	}
	return fmt.Sprintf("%x-%d", joined.Sum(nil), len(etags))
}
