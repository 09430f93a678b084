package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"parley/internal/domain"
)

// grants has the SQL for the grants on namespaces or on datasets.
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

// shared is a namespace or dataset whose grants are read or changed.
type shared struct {
	grants
	owner  string
	caller domain.Caller
	// find looks it up.
	find func(q queryer) (resource, error)
}

// findToChange is find for a change of the grant of a user, or of nobody's. The owner changes
// all, and others end their own. No restricted token, and no
// application, changes one: it would outlive the token.
func (s shared) findToChange(q queryer, username string) (id string, err error) {
	found, err := s.find(q)
	if username != s.caller.Username {
		found, err = owned(found, err)
	}
	if err == nil {
		err = mayShare(s.caller)
	}
	return found.ID, err
}

func sharedNamespace(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) shared {
	return shared{namespaceGrants, ref.Owner, caller, func(q queryer) (resource, error) { return findNamespace(ctx, q, caller, ref) }}
}

func sharedDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) shared {
	return shared{datasetGrants, ref.Owner, caller, func(q queryer) (resource, error) { return findDataset(ctx, q, caller, ref) }}
}

// NamespaceShares lists the grants on a namespace, by username. All that is about shares
// is for the owner of what is shared, but that others may end their own: ErrForbidden to those
// who hold a grant there, ErrNotFound to all others. A restricted token lists grants and changes
// none: ErrForbidden.
func (s *Store) NamespaceShares(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]domain.Grant, error) {
	return s.shares(ctx, sharedNamespace(ctx, caller, ref))
}

// ShareNamespace grants a role, in place of an earlier one.
func (s *Store) ShareNamespace(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, grant domain.Grant) error {
	return s.share(ctx, sharedNamespace(ctx, caller, ref), grant)
}

// RevokeNamespaceShare is ErrNotFound for what was not granted.
func (s *Store) RevokeNamespaceShare(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, username string) error {
	return s.revoke(ctx, sharedNamespace(ctx, caller, ref), username)
}

// DatasetShares is NamespaceShares for a dataset.
func (s *Store) DatasetShares(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) ([]domain.Grant, error) {
	return s.shares(ctx, sharedDataset(ctx, caller, ref))
}

// ShareDataset is ShareNamespace for a dataset.
func (s *Store) ShareDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, grant domain.Grant) error {
	return s.share(ctx, sharedDataset(ctx, caller, ref), grant)
}

// RevokeDatasetShare is RevokeNamespaceShare for a dataset.
func (s *Store) RevokeDatasetShare(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, username string) error {
	return s.revoke(ctx, sharedDataset(ctx, caller, ref), username)
}

func (s *Store) shares(ctx context.Context, on shared) ([]domain.Grant, error) {
	found, err := owned(on.find(s))
	if err != nil {
		return nil, wrap("find what is shared", err)
	}
	list := []domain.Grant{}
	if err := s.SelectContext(ctx, &list, on.list, found.ID); err != nil {
		return nil, wrap("list shares", err)
	}
	slices.SortFunc(list, func(a, b domain.Grant) int { return strings.Compare(a.Username, b.Username) })
	return list, nil
}

func (s *Store) share(ctx context.Context, on shared, grant domain.Grant) error {
	return s.inOwnerTx(ctx, "share", on.owner, func(tx *transaction) error {
		id, err := on.findToChange(tx, "")
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, on.put, id, grant.Username, grant.Role)
		return err
	})
}

func (s *Store) revoke(ctx context.Context, on shared, username string) error {
	return s.inOwnerTx(ctx, "revoke share", on.owner, func(tx *transaction) error {
		id, err := on.findToChange(tx, username)
		if err != nil {
			return err
		}
		n, err := exec(ctx, tx, on.revoke, id, username)
		if err == nil && n == 0 {
			return domain.Errorf(domain.ErrNotFound, "nothing here is shared with that user")
		}
		return err
	})
}

// Shares of runs.

var (
	selectSharable = parse(`
SELECT r.status, r.created_at, COALESCE(n.owner, '') AS owner, COALESCE(n.name, '') AS name,
	EXISTS (
		SELECT 1
		FROM conversations c
		WHERE c.owner = r.owner AND c.id = r.conversation_id AND c.created_at < r.created_at
		UNION ALL
		SELECT 1
		FROM runs o
		WHERE o.owner = r.owner AND o.conversation_id = r.conversation_id AND (o.created_at, o.id) < (r.created_at, r.id)) AS followed,
	EXISTS (
		SELECT 1
		FROM attachments a
		WHERE a.owner = r.owner AND a.conversation_id = r.conversation_id) AS attached
FROM runs r
LEFT JOIN namespaces n ON n.id = r.namespace_id
WHERE r.id = :run AND ` + ownRun)
	selectShareOfRun = parse(`
SELECT s.id, s.datasets
FROM runs r
JOIN run_shares s ON s.run_id = r.id
WHERE r.id = :run AND ` + ownRun)
	selectShareID   = parse(`SELECT COALESCE((SELECT s.id FROM run_shares s WHERE s.run_id = r.id), '') FROM runs r WHERE r.id = :run AND ` + ownRun)
	selectSharedRun = parse(`
SELECT s.id, s.datasets, s.created_at, r.id AS run_id, r.owner AS asked_by, r.agent, r.question, r.namespace_id,
	(SELECT n.owner FROM namespaces n WHERE n.id = r.namespace_id) AS owner,
	(SELECT n.name FROM namespaces n WHERE n.id = r.namespace_id) AS name, ` + resultBytes + ` AS result_bytes
FROM run_shares s
JOIN runs r ON r.id = s.run_id
WHERE s.id = :share
	AND r.namespace_id IN (SELECT n.id` + fromNamespaces + `)`)
)

func mayShare(caller domain.Caller) error { return needsUser(caller, "share, nor end a share") }

var errDataChanged = domain.Errorf(domain.ErrInvalid, "this answer cannot be shared: its data has changed since; ask the question again")

type sharableRow struct {
	Status             domain.RunStatus
	CreatedAt          int64
	Followed, Attached bool
	domain.NamespaceRef
}

type shareRow struct {
	ID       string
	Datasets jsonText[[]string]
}

// SharableRun returns the namespace of a run that the caller may share. ErrInvalid for one that
// cannot be shared: it is not about a namespace, or follows other runs or attachments, whose
// contents it may repeat.
func (s *Store) SharableRun(ctx context.Context, caller domain.Caller, runID string) (domain.NamespaceRef, error) {
	run, err := sharable(ctx, s, caller, runID)
	return run.NamespaceRef, wrap("find run to share", err)
}

func sharable(ctx context.Context, q queryer, caller domain.Caller, runID string) (run sharableRow, err error) {
	err = selectSharable.get(ctx, q, &run, by(caller, args{"run": runID}))
	if err == nil {
		err = mayShare(caller)
	}
	switch {
	case err != nil:
		return run, err
	case run.Status != domain.RunCompleted:
		return run, domain.Errorf(domain.ErrRunNotCompleted, "only a completed run can be shared; this one is %s", run.Status)
	case run.Name == "" || run.Attached || run.Followed:
		return run, domain.Errorf(domain.ErrInvalid,
			"this answer cannot be shared: it follows other questions, or files of yours, and may repeat what they hold; ask the question in a new conversation")
	}
	return run, nil
}

// ShareRun shares a run of the caller's that read and named the datasets with these ids, and
// returns the id of the link. A run has one link.
func (s *Store) ShareRun(ctx context.Context, caller domain.Caller, runID string, read, named []string) (id string, err error) {
	datasets := slices.Concat(read, named)
	err = s.inTx(ctx, "share run", func(tx *transaction) error {
		run, err := sharable(ctx, tx, caller, runID)
		if err != nil {
			return err
		}
		// One that was made or renamed since may have the name of another, which the run read.
		var changed []string
		err = selectIn(ctx, tx, &changed, `SELECT d.id FROM datasets d WHERE d.id IN (:ids) AND d.updated_at > :asked`,
			args{"ids": append([]string{""}, read...), "asked": run.CreatedAt})
		if err != nil {
			return err
		}
		var share shareRow
		switch err := selectShareOfRun.get(ctx, tx, &share, by(caller, args{"run": runID})); {
		case err == nil && slices.Equal(share.Datasets.value, datasets):
			id = share.ID
			return nil
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		case len(changed) > 0:
			return errDataChanged
		}
		_, err = exec(ctx, tx, `
INSERT INTO run_shares (id, run_id, datasets, created_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (run_id) DO UPDATE SET datasets = excluded.datasets`, domain.NewID(), runID, jsonText[[]string]{datasets}, s.millis())
		if err != nil {
			return err
		}
		err = selectShareOfRun.get(ctx, tx, &share, by(caller, args{"run": runID}))
		id = share.ID
		return err
	})
	return id, err
}

// RunShare returns the id of the link to a run of the caller's, "" for none.
func (s *Store) RunShare(ctx context.Context, caller domain.Caller, runID string) (id string, err error) {
	err = selectShareID.get(ctx, s, &id, by(caller, args{"run": runID}))
	return id, wrap("find share of run", err)
}

// EndRunShare ends the link; ErrNotFound when there is none.
func (s *Store) EndRunShare(ctx context.Context, caller domain.Caller, runID string) error {
	return s.inTx(ctx, "end share of run", func(tx *transaction) error {
		var share shareRow
		if err := selectShareOfRun.get(ctx, tx, &share, by(caller, args{"run": runID})); err != nil {
			return err
		}
		if err := mayShare(caller); err != nil {
			return err
		}
		return execOne(ctx, tx, `DELETE FROM run_shares WHERE id = $1`, share.ID)
	})
}

type sharedRunRow struct {
	ID, RunID, AskedBy, Agent, Question, NamespaceID string
	domain.NamespaceRef
	Datasets    jsonText[[]string]
	CreatedAt   int64
	ResultBytes int
}

// sharedRun finds a shared run, for those who may read all its data.
func (s *Store) sharedRun(ctx context.Context, caller domain.Caller, id string) (sharedRunRow, error) {
	var row sharedRunRow
	if err := selectSharedRun.get(ctx, s, &row, by(caller, args{"share": id})); err != nil {
		return row, wrap("find shared run", err)
	}
	readable, _, err := s.readable(ctx, caller, row.NamespaceID)
	if err == nil && !readable(row.Datasets.value) {
		err = domain.ErrNotFound
	}
	return row, err
}

// SharedRun returns a run by its link. ErrNotFound to those who may not read, now, all rows of all
// datasets that it read and that its texts name.
func (s *Store) SharedRun(ctx context.Context, caller domain.Caller, id string) (domain.SharedRun, error) {
	row, err := s.sharedRun(ctx, caller, id)
	return domain.SharedRun{
		ID: row.ID, AskedBy: row.AskedBy, Namespace: row.NamespaceRef, Agent: row.Agent, Question: row.Question,
		SharedAt: fromMillis(row.CreatedAt), ResultBytes: row.ResultBytes,
	}, err
}

// SharedResult returns the result of a shared run, a JSON document.
func (s *Store) SharedResult(ctx context.Context, caller domain.Caller, id string) (json.RawMessage, error) {
	row, err := s.sharedRun(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	var body string
	err = s.GetContext(ctx, &body, `SELECT x.body FROM results x WHERE x.run_id = $1`, row.RunID)
	return json.RawMessage(body), wrap("read shared result", err)
}
