package domain

import (
	"strings"

	"parley/internal/sqltext"
)

// MaxRowCondition is the most characters that the condition of a row rule may have.
const MaxRowCondition = 2_000

// RowRule says which rows of a dataset a user, or the members of a group, may see. Who may read a
// dataset with rules and has none sees no rows. Rows of several rules for the same user add up.
type RowRule struct {
	// Username is the user's or the group's.
	Username string
	// Condition is an SQL expression over the columns of the dataset.
	Condition string
	// Column and Claim, in place of a condition, are for rows whose column equals a value of
	// the user's claim.
	Column, Claim string
}

// Filter returns the SQL of the rule for a user whose claim has these values.
func (r RowRule) Filter(values []string) string {
	if r.Claim == "" {
		// A comment may end the condition.
		return "(" + r.Condition + "\n)"
	}
	if len(values) == 0 {
		return "false"
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = sqltext.Text(value)
	}
	return "CAST(" + sqltext.Name(r.Column) + " AS VARCHAR) IN (" + strings.Join(texts, ", ") + ")"
}
