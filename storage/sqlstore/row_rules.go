package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"parley/internal/domain"
)

// maxRowRules limits the row rules of a dataset, maxRowFilters the bytes of those of a namespace for
// one user.
const (
	maxRowRules   = 200
	maxRowFilters = 256 << 10
)

// rowRulesSince is the first version of the schema with row rules.
const rowRulesSince = 24

type rowRuleRow struct {
	DatasetID string
	Username  string
	Condition string
	Column    string `db:"column_name"`
	Claim     string
}

func (r rowRuleRow) rule() domain.RowRule {
	return domain.RowRule{Username: r.Username, Condition: r.Condition, Column: r.Column, Claim: r.Claim}
}

var (
	selectRulesOfCaller = parse(`SELECT x.dataset_id, x.username, x.condition, x.column_name, x.claim` + rulesOfCaller + `
ORDER BY x.dataset_id, x.username`)
	selectClaimsOfCaller = parse(`
SELECT c.claim, c.value
FROM user_claims c
WHERE c.username = :caller
ORDER BY c.claim, c.value`)
)

// withRowFilters adds the filters of datasets of which the caller may see some rows only. The rules
// and claims are read after the datasets: without a rule for the caller, no row is visible.
func (s *Store) withRowFilters(ctx context.Context, a args, all []domain.DatasetData) ([]domain.DatasetData, error) {
	if !slices.ContainsFunc(all, isRuled) {
		return all, nil
	}
	var rules []rowRuleRow
	if err := selectRulesOfCaller.list(ctx, s, &rules, a); err != nil {
		return nil, wrap("read row rules", err)
	}
	values := map[string][]string{}
	if slices.ContainsFunc(rules, func(r rowRuleRow) bool { return r.Claim != "" }) {
		var claims []struct{ Claim, Value string }
		if err := selectClaimsOfCaller.list(ctx, s, &claims, a); err != nil {
			return nil, wrap("read claims of a user", err)
		}
		for _, c := range claims {
			values[c.Claim] = append(values[c.Claim], c.Value)
		}
	}
	filters := map[string][]string{}
	for _, row := range rules {
		filters[row.DatasetID] = append(filters[row.DatasetID], row.rule().Filter(values[row.Claim]))
	}
	size := 0
	for i, data := range all {
		if isRuled(data) {
			all[i].RowFilter = cmp.Or(strings.Join(filters[data.ID], " OR "), "false")
			size += len(all[i].RowFilter)
		}
	}
	if size > maxRowFilters {
		return nil, domain.Errorf(domain.ErrInvalid, "the row rules for you in this namespace have more than %d KiB; its owner must shorten them", maxRowFilters>>10)
	}
	return all, nil
}

// isRuled reports whether a dataset has row rules for the caller: the rows are not counted then.
func isRuled(data domain.DatasetData) bool { return data.RowCount < 0 }

// RowRules lists the row rules of a dataset, by username. All that is about row rules is for the
// owner of the dataset, as with shares.
func (s *Store) RowRules(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) ([]domain.RowRule, error) {
	found, err := owned(findDataset(ctx, s, caller, ref))
	if err != nil {
		return nil, wrap("find dataset", err)
	}
	var rows []rowRuleRow
	err = s.SelectContext(ctx, &rows, `
SELECT username, condition, column_name, claim
FROM row_rules
WHERE dataset_id = $1
ORDER BY username`, found.ID)
	return each(rows, rowRuleRow.rule), wrap("list row rules", err)
}

// SetRowRule adds a row rule, or replaces that for the same user. The caller has checked it.
func (s *Store) SetRowRule(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rule domain.RowRule) error {
	on := sharedDataset(ctx, caller, ref)
	return s.inOwnerTx(ctx, "set row rule", ref.Owner, func(tx *transaction) error {
		id, err := on.findToChange(tx, "")
		if err != nil {
			return err
		}
		// Programs without row rules would show all rows: they stop.
		_, err = exec(ctx, tx, `
INSERT INTO schema_readers (oldest)
SELECT CAST($1 AS BIGINT)
WHERE NOT EXISTS (SELECT 1 FROM schema_readers WHERE oldest >= $1)`, rowRulesSince)
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, `
INSERT INTO row_rules (dataset_id, username, condition, column_name, claim)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (dataset_id, username) DO UPDATE
SET condition = excluded.condition,
	column_name = excluded.column_name,
	claim = excluded.claim`, id, rule.Username, rule.Condition, rule.Column, rule.Claim)
		if err != nil {
			return err
		}
		var count int
		if err := tx.GetContext(ctx, &count, `SELECT COUNT(*) FROM row_rules WHERE dataset_id = $1`, id); err != nil {
			return err
		}
		if count > maxRowRules {
			return domain.Errorf(domain.ErrTooMany, "this dataset has %d row rules already; use one for a group, or a claim", maxRowRules)
		}
		return nil
	})
}

// DeleteRowRule is ErrNotFound where there is none.
func (s *Store) DeleteRowRule(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, username string) error {
	on := sharedDataset(ctx, caller, ref)
	return s.inOwnerTx(ctx, "delete row rule", ref.Owner, func(tx *transaction) error {
		id, err := on.findToChange(tx, "")
		if err != nil {
			return err
		}
		n, err := exec(ctx, tx, `DELETE FROM row_rules WHERE dataset_id = $1 AND username = $2`, id, username)
		if err == nil && n == 0 {
			return domain.Errorf(domain.ErrNotFound, "there is no row rule for that user here")
		}
		return err
	})
}
