package objects

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strings"

	"parley/storage"
)

// storedPart is a part as the home has it.
type storedPart struct {
	etag string
	size int64
}

// inPlan gives those of the parts that a home has that are of the plan's sizes, by
// number.
func inPlan(plan Plan, stored map[int]storedPart) []Part {
	var parts []Part
	for number := 1; number <= min(plan.Parts(), MaxParts); number++ {
		if has, there := stored[number]; there && has.size == plan.Part(number) {
			parts = append(parts, Part{Number: number, ETag: has.etag})
		}
	}
	return parts
}

// checkParts compares the parts that a client names, and what the home has under
// their numbers, with the plan. It returns every problem, or the ETags in order.
func checkParts(plan Plan, parts []Part, stored map[int]storedPart) ([]string, error) {
	etags, wrong := namedParts(plan, parts)
	if len(etags) == 0 {
		return nil, storage.Invalid(wrong...)
	}
	for i, etag := range etags {
		number := i + 1
		has, there := stored[number]
		switch want := plan.Part(number); {
		case etag == "": // said already
		case !there:
			wrong = append(wrong, wrongPart(number, "is missing: it was not sent"))
		case has.etag != etag:
			wrong = append(wrong, wrongPart(number, "has another ETag than the one given"))
		case has.size != want:
			wrong = append(wrong, wrongPart(number, fmt.Sprintf("has %d bytes and must have %d", has.size, want)))
		}
	}
	if len(wrong) > 0 {
		return nil, storage.Invalid(wrong...)
	}
	return etags, nil
}

// namedParts puts the ETags in order, "" where there is a problem.
func namedParts(plan Plan, parts []Part) (etags []string, wrong []storage.FieldError) {
	count := plan.Parts()
	if count == 0 || count > MaxParts {
		return nil, []storage.FieldError{{Field: "plan", Message: fmt.Sprintf("must make 1 to %d parts", MaxParts)}}
	}
	etags = make([]string, count)
	seen := map[int]int{}
	for _, part := range parts {
		seen[part.Number]++
		etag := normalETag(part.ETag)
		switch {
		case seen[part.Number] == 2:
			if part.Number >= 1 && part.Number <= count {
				etags[part.Number-1] = ""
			}
			wrong = append(wrong, wrongPart(part.Number, "is there more than once"))
		case seen[part.Number] > 2: // said already
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

// orderedETags is namedParts for those who only need to know whether the parts
// were completed before: nil when there is any problem.
func orderedETags(plan Plan, parts []Part) []string {
	etags, wrong := namedParts(plan, parts)
	if len(wrong) > 0 {
		return nil
	}
	return etags
}

func wrongPart(number int, message string) storage.FieldError {
	return storage.FieldError{Field: fmt.Sprintf("part %d", number), Message: message}
}

// normalETag gives an ETag without its quotes, in lower case, as clients differ in
// what they pass on.
func normalETag(etag string) string {
	return strings.ToLower(strings.Trim(etag, `"`))
}

// wholeETag is S3's ETag of an object made of parts: the MD5 of their MD5s, and how
// many there are. It is "" where a part's ETag is no MD5.
func wholeETag(etags []string) string {
	whole := md5.New()
	for _, etag := range etags {
		sum, err := hex.DecodeString(etag)
		if err != nil || len(sum) != md5.Size {
			return ""
		}
		whole.Write(sum)
	}
	return fmt.Sprintf("%x-%d", whole.Sum(nil), len(etags))
}
