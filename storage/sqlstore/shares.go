package sqlstore

import (
	"context"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// grants is the SQL for the grants on one kind of thing.
type grants struct {
	list   string
	put    string
	revoke string
}

var (
	namespaceGrants = grants{
		list: `SELECT username, role FROM namespace_grants WHERE namespace_id = $1`,
		put: `
INSERT INTO namespace_grants (namespace_id, username, role)
VALUES ($1, $2, $3)
ON CONFLICT (namespace_id, username) DO UPDATE SET role = excluded.role`,
		revoke: `DELETE FROM namespace_grants WHERE namespace_id = $1 AND username = $2`,
	}
	datasetGrants = grants{
		list: `SELECT username, role FROM dataset_grants WHERE dataset_id = $1`,
		put: `
INSERT INTO dataset_grants (dataset_id, username, role)
VALUES ($1, $2, $3)
ON CONFLICT (dataset_id, username) DO UPDATE SET role = excluded.role`,
		revoke: `DELETE FROM dataset_grants WHERE dataset_id = $1 AND username = $2`,
	}
)

// shared is a thing whose grants are asked for.
type shared struct {
	grants
	owner  string
	caller storage.Caller
	// find looks up its id, for its owner.
	find func(q queryer) (id string, err error)
}

// findToChange is find for a change of the grants, which no restricted token
// makes: they would outlive it.
func (s shared) findToChange(q queryer) (id string, err error) {
	id, err = s.find(q)
	if err == nil && s.caller.Restricted() {
		err = storage.Errorf(storage.ErrForbidden, "a restricted token cannot share, nor end a share")
	}
	return id, err
}

func sharedNamespace(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef) shared {
	return shared{namespaceGrants, ref.Owner, caller, func(q queryer) (string, error) {
		found, err := owned(findNamespace(ctx, q, caller, ref))
		return found.ID, err
	}}
}

func sharedDataset(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) shared {
	return shared{datasetGrants, ref.Owner, caller, func(q queryer) (string, error) {
		found, err := owned(findDataset(ctx, q, caller, ref))
		return found.ID, err
	}}
}

// NamespaceShares lists the grants on a namespace, by username. All that is about shares
// is for the owner of what is shared: ErrForbidden to those who hold a grant there,
// ErrNotFound to all others. A restricted token lists grants and changes none:
// ErrForbidden.
func (s *Store) NamespaceShares(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef) ([]storage.Grant, error) {
	return s.shares(ctx, sharedNamespace(ctx, caller, ref))
}

// ShareNamespace grants a role, in place of an earlier one.
func (s *Store) ShareNamespace(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef, grant storage.Grant) error {
	return s.share(ctx, sharedNamespace(ctx, caller, ref), grant)
}

// RevokeNamespaceShare is ErrNotFound for what was not granted.
func (s *Store) RevokeNamespaceShare(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef, username string) error {
	return s.revoke(ctx, sharedNamespace(ctx, caller, ref), username)
}

// DatasetShares is NamespaceShares for a dataset.
func (s *Store) DatasetShares(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) ([]storage.Grant, error) {
	return s.shares(ctx, sharedDataset(ctx, caller, ref))
}

// ShareDataset is ShareNamespace for a dataset.
func (s *Store) ShareDataset(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, grant storage.Grant) error {
	return s.share(ctx, sharedDataset(ctx, caller, ref), grant)
}

// RevokeDatasetShare is RevokeNamespaceShare for a dataset.
func (s *Store) RevokeDatasetShare(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, username string) error {
	return s.revoke(ctx, sharedDataset(ctx, caller, ref), username)
}

func (s *Store) shares(ctx context.Context, on shared) ([]storage.Grant, error) {
	id, err := on.find(s)
	if err != nil {
		return nil, wrap("find what is shared", err)
	}
	list := []storage.Grant{}
	if err := s.SelectContext(ctx, &list, on.list, id); err != nil {
		return nil, wrap("list shares", err)
	}
	slices.SortFunc(list, func(a, b storage.Grant) int { return strings.Compare(a.Username, b.Username) })
	return list, nil
}

func (s *Store) share(ctx context.Context, on shared, grant storage.Grant) error {
	return s.inOwnerTx(ctx, "share", on.owner, func(tx *sqlx.Tx) error {
		id, err := on.findToChange(tx)
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, on.put, id, grant.Username, grant.Role)
		return err
	})
}

func (s *Store) revoke(ctx context.Context, on shared, username string) error {
	return s.inOwnerTx(ctx, "revoke share", on.owner, func(tx *sqlx.Tx) error {
		id, err := on.findToChange(tx)
		if err != nil {
			return err
		}
		n, err := exec(ctx, tx, on.revoke, id, username)
		if err == nil && n == 0 {
			return storage.Errorf(storage.ErrNotFound, "nothing here is shared with that user")
		}
		return err
	})
}
