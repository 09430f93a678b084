package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"parley/internal/domain"
)

var (
	linksOfNamespace = parse(`
SELECT d.name, l.columns, o.name AS target, l.to_columns, l.label` + joinDatasets + `
JOIN dataset_links l ON l.dataset_id = d.id
JOIN datasets o ON o.id = l.to_id` + whereReadable + `
	AND n.id = :namespace_id
	AND l.to_id IN (SELECT d.id` + fromDatasets + ` AND n.id = :namespace_id)
ORDER BY d.id, l.position`)
	// deleteVisibleLinks deletes those of a dataset whose targets the caller may read.
	deleteVisibleLinks = parse(`
DELETE FROM dataset_links
WHERE dataset_id = :id
	AND to_id IN (SELECT d.id` + fromDatasets + ` AND n.id = :namespace_id)`)
	selectLinkTarget = parse(`SELECT d.id, v.columns` + fromDatasets + `
	AND n.id = :namespace_id
	AND lower(d.name) = lower(:name)`)
)

// NamespaceLinks returns the declared links between datasets of a namespace that the caller
// may read. ErrNotFound when the caller may not see the namespace.
func (s *Store) NamespaceLinks(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]domain.Link, error) {
	found, err := findNamespace(ctx, s, caller, ref)
	if err != nil {
		return nil, wrap("find namespace", err)
	}
	var rows []struct {
		Name      string
		Columns   jsonText[[]string]
		Target    string
		ToColumns jsonText[[]string]
		Label     string
	}
	if err := linksOfNamespace.list(ctx, s, &rows, by(caller, args{"namespace_id": found.ID})); err != nil {
		return nil, wrap("list links", err)
	}
	links := make([]domain.Link, len(rows))
	for i, row := range rows {
		links[i] = domain.Link{From: row.Name, Columns: row.Columns.value, To: row.Target, ToColumns: row.ToColumns.value, Label: row.Label}
	}
	return links, nil
}

// SetLinks replaces the declared links of a dataset, for the owner and editors. Those to
// datasets that the caller may not read stay. ErrInvalid when a dataset or a column does not
// exist.
func (s *Store) SetLinks(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, links []domain.Link) error {
	return s.inOwnerTx(ctx, "set links", ref.Owner, func(tx *transaction) error {
		from, err := editable(findDataset(ctx, tx, caller, ref))
		if err != nil {
			return err
		}
		targets, err := linkTargets(ctx, tx, caller, from.NamespaceID, ref.Name, links)
		if err != nil {
			return err
		}
		if err := deleteVisibleLinks.exec(ctx, tx, by(caller, args{"id": from.ID, "namespace_id": from.NamespaceID})); err != nil {
			return fmt.Errorf("delete links: %w", err)
		}
		var next int
		if err := tx.GetContext(ctx, &next, `SELECT COALESCE(MAX(position), -1) + 1 FROM dataset_links WHERE dataset_id = $1`, from.ID); err != nil {
			return fmt.Errorf("count links: %w", err)
		}
		for i, l := range links {
			_, err := exec(ctx, tx, `
INSERT INTO dataset_links (dataset_id, position, to_id, columns, to_columns, label)
VALUES ($1, $2, $3, $4, $5, $6)`,
				from.ID, next+i, targets[i], jsonText[[]string]{l.Columns}, jsonText[[]string]{l.ToColumns}, l.Label)
			if err != nil {
				return fmt.Errorf("add link: %w", err)
			}
		}
		return nil
	})
}

// linkTarget is a dataset that a link names.
type linkTarget struct {
	ID      string
	Columns jsonText[[]domain.Column]
}

// linkTargets returns the ids of the datasets that links name. ErrInvalid when these, or
// columns of either side, do not exist.
func linkTargets(ctx context.Context, tx *transaction, caller domain.Caller, namespaceID, from string, links []domain.Link) ([]string, error) {
	known := map[string]linkTarget{}
	find := func(name string) (linkTarget, error) {
		name = strings.ToLower(name)
		if target, ok := known[name]; ok {
			return target, nil
		}
		var target linkTarget
		err := selectLinkTarget.get(ctx, tx, &target, by(caller, args{"namespace_id": namespaceID, "name": name}))
		if err == nil || errors.Is(err, sql.ErrNoRows) {
			known[name] = target
			return target, nil
		}
		return target, fmt.Errorf("find the dataset of a link: %w", err)
	}
	ids := make([]string, len(links))
	var wrong []domain.FieldError
	for i, l := range links {
		sides := []struct {
			dataset, field string
			columns        []string
		}{{from, "columns", l.Columns}, {l.To, "toColumns", l.ToColumns}}
		for _, side := range sides {
			target, err := find(side.dataset)
			if err != nil {
				return nil, err
			}
			ids[i] = target.ID
			if target.ID == "" {
				wrong = append(wrong, domain.FieldError{Field: fmt.Sprintf("links[%d].dataset", i), Message: "is not a dataset of this namespace"})
				continue
			}
			if _, missing := domain.FindColumns(target.Columns.value, side.columns); missing != "" {
				wrong = append(wrong, domain.FieldError{
					Field:   fmt.Sprintf("links[%d].%s", i, side.field),
					Message: fmt.Sprintf("has `%s`, which is not a column of %s", domain.Truncate(missing, 100), side.dataset),
				})
			}
		}
	}
	if len(wrong) > 0 {
		return nil, domain.Invalid(wrong...)
	}
	return ids, nil
}
