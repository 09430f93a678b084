package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/sqlcheck"
)

// maxCachedCounts limits the row counts in memory.
const maxCachedCounts = 1000

// SetRowRule checks a row rule of a dataset and stores it. It returns how many rows a condition
// lets through, and how many there are. A condition that is wrong is ErrInvalid.
func (d *Datasets) SetRowRule(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rule domain.RowRule) (visible, total int64, err error) {
	if _, err := d.config.Records.RowRules(ctx, caller, ref); err != nil {
		return 0, 0, err // the caller is not the owner
	}
	data, err := d.config.Records.DatasetData(ctx, caller, ref)
	if err != nil {
		return 0, 0, err
	}
	if rule.Claim != "" {
		has := func(c domain.Column) bool { return strings.EqualFold(c.Name, rule.Column) }
		if !slices.ContainsFunc(data.Columns, has) {
			return 0, 0, domain.Invalid(domain.FieldError{Field: "column", Message: "is not a column of the dataset"})
		}
	} else if visible, total, err = d.tryCondition(ctx, caller, data, rule); err != nil {
		return 0, 0, err
	}
	return visible, total, d.config.Records.SetRowRule(ctx, caller, ref, rule)
}

// tryCondition checks a condition on the rows of a dataset, and returns how many it lets through.
func (d *Datasets) tryCondition(ctx context.Context, caller domain.Caller, data domain.DatasetData, rule domain.RowRule) (visible, total int64, err error) {
	name := sqltext.Name(data.Name)
	tables, _ := d.tables([]domain.DatasetData{data})
	// Without parentheses, nothing can follow the expression.
	checked, err := d.config.Pool.Check(ctx, caller.Username, "SELECT 1 FROM "+name+" WHERE "+rule.Condition, tables)
	if err == nil {
		err = sqlcheck.CheckCondition(checked)
	}
	if err != nil {
		return 0, 0, err
	}
	sql := fmt.Sprintf("SELECT count(*) FILTER (WHERE %s) AS visible, count(*) AS total FROM %s", rule.Filter(nil), name)
	result, err := d.QueryOver(ctx, caller, []domain.DatasetData{data}, sql)
	if err != nil {
		return 0, 0, err
	}
	if len(result.Rows) != 1 {
		return 0, 0, fmt.Errorf("count rows: %d rows", len(result.Rows))
	}
	var counts struct{ Visible, Total int64 }
	if err := json.Unmarshal(result.Rows[0], &counts); err != nil {
		return 0, 0, fmt.Errorf("read counts: %w", err)
	}
	return counts.Visible, counts.Total, nil
}

// VisibleRows returns how many rows of a dataset the caller may see.
func (d *Datasets) VisibleRows(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (int64, error) {
	data, err := d.config.Records.DatasetData(ctx, caller, ref)
	if err != nil {
		return 0, err
	}
	all := []domain.DatasetData{data}
	err = d.countRows(ctx, caller, all)
	return all[0].RowCount, err
}

// countRows counts the rows of datasets of which the caller may see some only. Where that fails
// because of the rule or the size, there is one: the queries themselves say why.
func (d *Datasets) countRows(ctx context.Context, caller domain.Caller, all []domain.DatasetData) error {
	for i, data := range all {
		if data.RowFilter == "" {
			continue
		}
		count, known := d.counts.Get(data.Contents())
		if !known {
			result, err := d.QueryOver(ctx, caller, all, "SELECT count(*) AS n FROM "+sqltext.Name(data.Name))
			if errors.Is(err, domain.ErrInvalid) {
				all[i].RowCount = 1
				continue
			}
			if err != nil {
				return err
			}
			var counted struct{ N int64 }
			if err := json.Unmarshal(result.Rows[0], &counted); err != nil {
				return fmt.Errorf("read a count: %w", err)
			}
			count = counted.N
			d.counts.Put(data.Contents(), count, 1)
		}
		all[i].RowCount = count
	}
	return nil
}
