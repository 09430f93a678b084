package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"parley/internal/domain"
)

var listNamespaces = parse(`
SELECT n.owner, n.name` + fromNamespaces + `
	AND (:owner = '' OR n.owner = :owner)
	AND ` + candidateNamespaces)

// Namespaces lists those that the caller may see, by owner and name: all of them, or
// those of one owner.
func (s *Store) Namespaces(ctx context.Context, caller domain.Caller, owner string) ([]domain.NamespaceRef, error) {
	namespaces := []domain.NamespaceRef{}
	if err := listNamespaces.list(ctx, s, &namespaces, by(caller, args{"owner": owner})); err != nil {
		return nil, wrap("list namespaces", err)
	}
	slices.SortFunc(namespaces, func(a, b domain.NamespaceRef) int {
		return cmp.Or(strings.Compare(a.Owner, b.Owner), compareNames(a.Name, b.Name))
	})
	return namespaces, nil
}

// RenameNamespace is for its owner. ErrConflict when the name is taken.
func (s *Store) RenameNamespace(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, name string) error {
	return s.inOwnerTx(ctx, "rename namespace", ref.Owner, func(tx *transaction) error {
		found, err := writable(owned(findNamespace(ctx, tx, caller, ref)))
		if err != nil {
			return err
		}
		err = execOne(ctx, tx, `UPDATE namespaces SET name = $2 WHERE id = $1`, found.ID, name)
		return nameTaken(err, "namespace", name)
	})
}

// DeleteNamespace is for its owner. Datasets in it are deleted with it, a batch at a time, or make
// it an ErrConflict.
func (s *Store) DeleteNamespace(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, withDatasets bool) error {
	id := ""
	return inBatches(ctx, func() (more bool, err error) {
		err = s.inOwnerTx(ctx, "delete namespace", ref.Owner, func(tx *transaction) error {
			found, err := writable(owned(findNamespace(ctx, tx, caller, ref)))
			if err != nil {
				return err
			}
			if id = cmp.Or(id, found.ID); found.ID != id { // it was renamed meanwhile
				return domain.ErrConflict
			}
			if withDatasets {
				if more, err = s.deleteDatasets(ctx, tx, found.ID); more || err != nil {
					return err
				}
			}
			err = execOne(ctx, tx, `DELETE FROM namespaces WHERE id = $1`, found.ID)
			if isForeignKeyViolation(err) {
				return domain.Errorf(domain.ErrConflict,
					"the namespace still holds datasets; delete them first, or with it by ?deleteDatasets=true")
			}
			return err
		})
		return more, err
	})
}

// deleteDatasets deletes a batch of the datasets of a namespace, and reports whether there can be
// more.
func (s *Store) deleteDatasets(ctx context.Context, tx *transaction, namespaceID string) (more bool, err error) {
	var ids []string
	err = tx.SelectContext(ctx, &ids, `
SELECT id
FROM datasets
WHERE namespace_id = $1
ORDER BY id
LIMIT `+retentionBatchText, namespaceID)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := s.deleteDataset(ctx, tx, id); err != nil {
			return false, err
		}
	}
	return len(ids) == RetentionBatch, nil
}

// nameTaken returns the error for a name that is taken.
func nameTaken(err error, thing, name string) error {
	if isUniqueViolation(err) {
		return domain.Errorf(domain.ErrConflict, "a %s named %s exists already", thing, name)
	}
	return err
}

// compareNames orders names the same on every database: first without regard to case, as
// names are compared.
func compareNames(a, b string) int {
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
}
