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
	} else {
		// As the condition of an aggregate it is one expression without others.
		sql := fmt.Sprintf("SELECT count(*) FILTER (WHERE %s) AS visible, count(*) AS total FROM %s", rule.Filter(nil), sqltext.Name(data.Name))
		result, err := d.QueryOver(ctx, caller, []domain.DatasetData{data}, sql)
		if err != nil {
			return 0, 0, err
		}
		var counts struct{ Visible, Total int64 }
		if err := json.Unmarshal(result.Rows[0], &counts); err != nil {
			return 0, 0, fmt.Errorf("read counts: %w", err)
		}
		visible, total = counts.Visible, counts.Total
	}
	return visible, total, d.config.Records.SetRowRule(ctx, caller, ref, rule)
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

// countRows counts the rows of datasets of which the caller may see some only.
func (d *Datasets) countRows(ctx context.Context, caller domain.Caller, all []domain.DatasetData) error {
	for i, data := range all {
		if data.RowCount >= 0 {
			continue
		}
		count, known := d.counts.Get(data.Contents())
		if !known {
			result, err := d.QueryOver(ctx, caller, all[i:i+1], "SELECT count(*) AS n FROM "+sqltext.Name(data.Name))
			var counted struct{ N int64 }
			switch {
			case errors.Is(err, domain.ErrInvalid):
				// The queries themselves say what is wrong with the rule.
			case err != nil:
				return err
			default:
				if err := json.Unmarshal(result.Rows[0], &counted); err != nil {
					return fmt.Errorf("read a count: %w", err)
				}
			}
			count = counted.N
			d.counts.Put(data.Contents(), count, 1)
		}
		all[i].RowCount = count
	}
	return nil
}
