package sqlstore

import (
	"context"
	"slices"
	"time"

	"parley/internal/domain"
)

var readableIDs = parse(`SELECT d.id, ` + hasRowRule + ` AS partly` + fromDatasets + ` AND n.id = :namespace_id`)

var selectDataChanged = parse(`SELECT COALESCE(MAX(d.updated_at), 0)` + fromDatasets + namedNamespace)

// maxSavedQueries limits the characters of the saved queries of a kind in a namespace, which
// are read at once.
const maxSavedQueries = 2 << 20

type savedQueryRow struct {
	domain.SavedQuery
	Datasets jsonText[[]string]
	SavedAt  int64
}

func (r savedQueryRow) query() domain.SavedQuery {
	r.SavedQuery.Datasets, r.SavedQuery.SavedAt = r.Datasets.value, fromMillis(r.SavedAt)
	return r.SavedQuery
}

// SavedQueries lists the saved queries of a kind, oldest first or in the order of the board, with the
// watches of the caller, and what the caller may do to the
// namespace. Who may read only some datasets, or some rows of one, sees the queries that read no
// others: their texts can have values of hidden rows.
func (s *Store) SavedQueries(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, kind domain.SavedKind) ([]domain.SavedQuery, domain.Access, error) {
	found, access, err := s.savedQueries(ctx, caller, in, kind, "")
	if err == nil && kind == domain.PinnedQuery {
		err = s.addWatches(ctx, caller, found)
	}
	return found, access, err
}

// savedQueries is SavedQueries with one more condition, which has parameters from $3 on.
func (s *Store) savedQueries(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, kind domain.SavedKind, and string, with ...any) ([]domain.SavedQuery, domain.Access, error) {
	found, err := findNamespace(ctx, s, caller, in)
	if err != nil {
		return nil, domain.Access{}, wrap("find namespace", err)
	}
	var rows []savedQueryRow
	err = s.SelectContext(ctx, &rows, `
SELECT q.id, q.title, q.question, q.query, q.datasets, q.saved_by, q.saved_at, q.wide
FROM saved_queries q
WHERE q.namespace_id = $1
	AND q.kind = $2`+and+`
ORDER BY q.place, q.saved_at, q.id`, append([]any{found.ID, kind}, with...)...)
	if err != nil {
		return nil, domain.Access{}, wrap("list saved queries", err)
	}
	if found.Role != domain.Owner && len(rows) > 0 {
		readable, whole, err := s.readable(ctx, caller, found.ID)
		if err != nil {
			return nil, domain.Access{}, err
		}
		if found.Role == "" || !whole {
			rows = slices.DeleteFunc(rows, func(row savedQueryRow) bool { return len(row.Datasets.value) == 0 || !readable(row.Datasets.value) })
		}
	}
	return each(rows, savedQueryRow.query), found.Access, nil
}

// readable returns a function that reports whether the caller may read all rows of all of some
// datasets of a namespace, and whether there is none of which the caller may see some rows only.
func (s *Store) readable(ctx context.Context, caller domain.Caller, namespaceID string) (may func(ids []string) bool, whole bool, err error) {
	var known []struct {
		ID     string
		Partly bool
	}
	if err := readableIDs.list(ctx, s, &known, by(caller, args{"namespace_id": namespaceID})); err != nil {
		return nil, false, wrap("list readable datasets", err)
	}
	all := make(map[string]bool, len(known))
	whole = true
	for _, dataset := range known {
		all[dataset.ID] = !dataset.Partly
		whole = whole && !dataset.Partly
	}
	return func(ids []string) bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return !all[id] })
	}, whole, nil
}

// VerifiedQuery returns the query that was verified for a question; ErrNotFound when there is
// none in the caller's list.
func (s *Store) VerifiedQuery(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, question string) (domain.SavedQuery, error) {
	found, _, err := s.savedQueries(ctx, caller, in, domain.VerifiedQuery, ` AND q.question_key = $3`, domain.QuestionKey(question))
	if err != nil {
		return domain.SavedQuery{}, err
	}
	if len(found) == 0 {
		return domain.SavedQuery{}, domain.ErrNotFound
	}
	return found[0], nil
}

// SaveQuery is for the owner and editors of the namespace. ErrTooMany beyond the limit. A
// verified query replaces that of the same question.
func (s *Store) SaveQuery(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, kind domain.SavedKind, query domain.SavedQuery) error {
	return s.inOwnerTx(ctx, "save query", in.Owner, func(tx *transaction) error {
		found, err := editableNamespace(findNamespace(ctx, tx, caller, in))
		if err != nil {
			return err
		}
		key := domain.QuestionKey(query.Question)
		if kind == domain.VerifiedQuery {
			if _, err := exec(ctx, tx, `DELETE FROM saved_queries WHERE namespace_id = $1 AND kind = $2 AND question_key = $3`, found.ID, kind, key); err != nil {
				return err
			}
		}
		var saved struct{ Count, Size, Last int }
		err = tx.GetContext(ctx, &saved, `
SELECT COUNT(*) AS count, COALESCE(MAX(q.place), 0) AS last, COALESCE(SUM(LENGTH(q.question) + LENGTH(q.query)), 0) AS size
FROM saved_queries q
WHERE q.namespace_id = $1 AND q.kind = $2`, found.ID, kind)
		if err != nil {
			return err
		}
		if saved.Count >= kind.Limit() || saved.Size+len(query.Question)+len(query.Query) > maxSavedQueries {
			return domain.Errorf(domain.ErrTooMany, "this namespace has %d %s queries already; delete one first", saved.Count, kind)
		}
		place := 0
		if kind == domain.PinnedQuery {
			place = saved.Last + 1
		}
		_, err = exec(ctx, tx, `
INSERT INTO saved_queries (id, namespace_id, kind, title, question, question_key, query, datasets, saved_by, saved_at, place)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			query.ID, found.ID, kind, query.Title, query.Question, key, query.Query, jsonText[[]string]{query.Datasets}, caller.Username, s.millis(), place)
		return err
	})
}

// ChangePin is for the owner and editors of the namespace, who see the query.
func (s *Store) ChangePin(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, id string, change domain.PinChange) error {
	seen, _, err := s.savedQueries(ctx, caller, in, domain.PinnedQuery, ` AND q.id = $3`, id)
	if err != nil {
		return err
	}
	return s.inOwnerTx(ctx, "change pinned query", in.Owner, func(tx *transaction) error {
		found, err := editableNamespace(findNamespace(ctx, tx, caller, in))
		if err == nil && len(seen) == 0 {
			err = domain.ErrNotFound
		}
		if err != nil {
			return err
		}
		err = execOne(ctx, tx, `
UPDATE saved_queries
SET title = COALESCE($4, title), wide = COALESCE($5, wide)
WHERE id = $1
	AND namespace_id = $2
	AND kind = $3`, id, found.ID, domain.PinnedQuery, change.Title, change.Wide)
		if err != nil || change.Place == nil {
			return err
		}
		var others []string
		err = tx.SelectContext(ctx, &others, `
SELECT q.id
FROM saved_queries q
WHERE q.namespace_id = $1
	AND q.kind = $2
	AND q.id <> $3
ORDER BY q.place, q.saved_at, q.id`, found.ID, domain.PinnedQuery, id)
		if err != nil {
			return err
		}
		for i, other := range slices.Insert(others, min(*change.Place, len(others)), id) {
			if _, err := exec(ctx, tx, `UPDATE saved_queries SET place = $2 WHERE id = $1`, other, i+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteSavedQuery is for the owner and editors of the namespace.
func (s *Store) DeleteSavedQuery(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, kind domain.SavedKind, id string) error {
	return s.inOwnerTx(ctx, "delete saved query", in.Owner, func(tx *transaction) error {
		found, err := editableNamespace(findNamespace(ctx, tx, caller, in))
		if err != nil {
			return err
		}
		return execOne(ctx, tx, `DELETE FROM saved_queries WHERE id = $1 AND namespace_id = $2 AND kind = $3`, id, found.ID, kind)
	})
}

// DataChangedAt returns when a dataset of a namespace that the caller may read was last changed.
func (s *Store) DataChangedAt(ctx context.Context, caller domain.Caller, in domain.NamespaceRef) (time.Time, error) {
	var at int64
	err := selectDataChanged.get(ctx, s, &at, inNamespace(caller, in))
	return fromMillis(at), wrap("find out when data was changed", err)
}
