package sqlstore

import (
	"context"
	"fmt"

	"parley/storage"
)

// Every statement that reads on a caller's behalf is built from the fragments
// in this file, and every one that writes goes by the id of a row that was found
// through them in the same transaction: so no operation forgets whose it is, or
// what the caller's token covers. What acts for nobody (hosts, workers, retention,
// operators) is where it is used. A test lists what other files name. In all of
// them $1 is the caller's username and $2 its restriction.

// coversNamespace holds when the caller's token covers namespace n whole.
const coversNamespace = `($2 = '' OR EXISTS (
	SELECT 1
	FROM token_targets s
	WHERE s.token_id = $2
		AND s.namespace_id = n.id
		AND s.dataset_id IS NULL))`

// coversDataset holds when the caller's token covers dataset d of namespace n.
const coversDataset = `($2 = '' OR EXISTS (
	SELECT 1
	FROM token_targets s
	WHERE s.token_id = $2
		AND s.namespace_id = n.id
		AND (s.dataset_id IS NULL OR s.dataset_id = d.id)))`

// writable holds when the caller's token may change what it covers.
const writable = `($2 = '' OR EXISTS (
	SELECT 1
	FROM tokens k
	WHERE k.id = $2
		AND k.owner = $1
		AND k.access = 'write'))`

// fromDatasets is the datasets d, with their namespace n, current version v and
// the caller's grants ng and dg, that the caller may read. It ends in a WHERE
// to which conditions can be added.
const fromDatasets = joinDatasets + whereReadable

// fromDatasetFiles is fromDatasets with the files f of each, one row at least.
const fromDatasetFiles = joinDatasets + `
LEFT JOIN dataset_files f ON f.dataset_id = d.id` + whereReadable

const (
	joinDatasets = `
FROM datasets d
JOIN namespaces n ON n.id = d.namespace_id
JOIN dataset_versions v ON v.dataset_id = d.id AND v.version = d.version
LEFT JOIN namespace_grants ng ON ng.namespace_id = n.id AND ng.username = $1
LEFT JOIN dataset_grants dg ON dg.dataset_id = d.id AND dg.username = $1`
	whereReadable = `
WHERE (n.owner = $1 OR ng.role IS NOT NULL OR dg.role IS NOT NULL)
	AND ` + coversDataset
)

// datasetAccess is what the caller may do to a dataset: the stronger of two
// grants counts.
const datasetAccess = `
	CASE
		WHEN n.owner = $1 THEN 'owner'
		WHEN ng.role = 'editor' OR dg.role = 'editor' THEN 'editor'
		ELSE 'viewer'
	END AS role, ` + writable + ` AS writable`

// fromNamespaces is the namespaces n that the caller may see: those that are
// the caller's or shared whole, and those with a dataset that the caller may
// read.
const fromNamespaces = `
FROM namespaces n
LEFT JOIN namespace_grants ng ON ng.namespace_id = n.id AND ng.username = $1
WHERE ((n.owner = $1 OR ng.role IS NOT NULL) AND ` + coversNamespace + `
	OR EXISTS (
		SELECT 1
		FROM datasets d
		LEFT JOIN dataset_grants dg ON dg.dataset_id = d.id AND dg.username = $1
		WHERE d.namespace_id = n.id
			AND (n.owner = $1 OR ng.role IS NOT NULL OR dg.role IS NOT NULL)
			AND ` + coversDataset + `))`

// namespaceAccess is what the caller may do to a namespace. The role is empty
// where only single datasets in it are for the caller to read.
const namespaceAccess = `
	CASE
		WHEN NOT ` + coversNamespace + ` THEN ''
		WHEN n.owner = $1 THEN 'owner'
		ELSE COALESCE(ng.role, '')
	END AS role, ` + writable + ` AS writable`

// The candidates of a list: the same rows as without them, found through an
// index rather than by looking at everyone's.
const (
	candidateDatasets = `d.id IN (
		SELECT d.id FROM datasets d JOIN namespaces n ON n.id = d.namespace_id WHERE n.owner = $1
		UNION
		SELECT d.id FROM datasets d JOIN namespace_grants g ON g.namespace_id = d.namespace_id WHERE g.username = $1
		UNION
		SELECT g.dataset_id FROM dataset_grants g WHERE g.username = $1)`
	candidateNamespaces = `n.id IN (
		SELECT n.id FROM namespaces n WHERE n.owner = $1
		UNION
		SELECT g.namespace_id FROM namespace_grants g WHERE g.username = $1
		UNION
		SELECT d.namespace_id FROM datasets d JOIN dataset_grants g ON g.dataset_id = d.id WHERE g.username = $1)`
)

// ownRun holds for the caller's runs r that the caller's token covers.
const ownRun = `(r.owner = $1 AND ($2 = '' OR r.restriction = $2 OR EXISTS (
	SELECT 1
	FROM namespaces n
	WHERE n.id = r.namespace_id AND ` + coversNamespace + `)))`

// ownConversation holds for the caller's conversations c in which the caller's
// token covers a run.
const ownConversation = `(c.owner = $1 AND ($2 = '' OR EXISTS (
	SELECT 1
	FROM runs r
	WHERE r.conversation_id = c.id AND ` + ownRun + `)))`

// fromRuns, fromEvents, fromTurns, fromRatings and fromConversations are the
// runs r with their task t, those with their events e, the runs r with their
// conversation c, those with their rating t, and the conversations c that the
// caller may see. They end in a WHERE to which conditions can be added.
const (
	fromRuns = `
FROM runs r
JOIN tasks t ON t.run_id = r.id
WHERE ` + ownRun
	fromEvents = `
FROM runs r
JOIN events e ON e.run_id = r.id
WHERE ` + ownRun
	fromTurns = `
FROM runs r
JOIN conversations c ON c.owner = r.owner AND c.id = r.conversation_id
WHERE ` + ownRun
	fromRatings = `
FROM runs r
JOIN ratings t ON t.run_id = r.id
WHERE ` + ownRun
	fromConversations = " FROM conversations c WHERE " + ownConversation
)

// ownNamespaceID is the id of the caller's own namespace named $2, for a caller
// whose token is not restricted. It says nothing that fromNamespaces does not; it
// is planned and found many times faster, and most questions are about one's own.
const ownNamespaceID = `SELECT n.id FROM namespaces n WHERE n.owner = $1 AND lower(n.name) = lower($2)`

// tokenScopes is what token $3 covers of what the caller may see, by the names
// of now.
const tokenScopes = `
SELECT n.owner, n.name AS namespace, COALESCE(d.name, '') AS dataset
FROM token_targets s
JOIN namespaces n ON n.id = s.namespace_id
LEFT JOIN datasets d ON d.id = s.dataset_id
WHERE s.token_id = $3
	AND s.namespace_id IN (SELECT n.id` + fromNamespaces + `)
	AND (s.dataset_id IS NULL OR s.dataset_id IN (SELECT d.id` + fromDatasets + `))
ORDER BY s.position`

// mayCancel holds for the caller's runs r that the caller's token may end: a
// read-only one ends what was asked with it.
const mayCancel = `(` + writable + ` OR r.restriction = $2)`

// conversationBegun is 1 when the caller has a conversation with id $5 that the
// caller's token covers, 0 when the token does not cover it, and null when there
// is none.
const conversationBegun = `(
	SELECT CASE WHEN ` + ownConversation + ` THEN 1 ELSE 0 END
	FROM conversations c
	WHERE c.owner = $1
		AND c.id = $5)`

// lastNamespaceID is the id of the namespace that the caller's last run in
// conversation $3 asked.
const lastNamespaceID = `
	SELECT r.namespace_id
	FROM runs r
	WHERE r.conversation_id = $3
		AND r.namespace_id IS NOT NULL
		AND ` + ownRun + `
	ORDER BY r.created_at DESC, r.id DESC
	LIMIT 1`

// holdsRunAbout holds for conversations c in which a run that the caller may
// see was asked of a namespace of owner $3, named $4; empty for any.
const holdsRunAbout = `EXISTS (
	SELECT 1
	FROM runs r
	JOIN namespaces n ON n.id = r.namespace_id
	WHERE r.conversation_id = c.id
		AND ` + ownRun + `
		AND ($3 = '' OR n.owner = $3)
		AND ($4 = '' OR lower(n.name) = lower($4)))`

// visibleTitle is the title of conversation c, or for a restricted token the
// first question in it that the token covers.
const visibleTitle = `
	CASE
		WHEN $2 = '' THEN c.title
		ELSE (
			SELECT r.question
			FROM runs r
			WHERE r.conversation_id = c.id AND ` + ownRun + `
			ORDER BY r.created_at, r.id
			LIMIT 1)
	END`

// coversConversation holds for conversations c of which the caller's token
// covers every run.
const coversConversation = `NOT EXISTS (
	SELECT 1
	FROM runs r
	WHERE r.owner = c.owner AND r.conversation_id = c.id AND NOT ` + ownRun + `)`

// ownUpload holds for the caller's upload sessions u that were prepared with
// the caller's token, or with any where the caller's is not restricted.
const ownUpload = `(u.owner = $1 AND ($2 = '' OR u.restriction = $2))`

// fromUploads is the files f of the upload sessions u that the caller may see,
// openUploads those that user $1 is uploading, by whatever token, and fromAnyUpload
// whoever's.
const (
	fromAnyUpload = `
FROM upload_sessions u
JOIN upload_files f ON f.session_id = u.id
WHERE`
	fromUploads = fromAnyUpload + ` ` + ownUpload
	openUploads = fromAnyUpload + `
	u.owner = $1
	AND u.status = 'preparing'
	AND f.status = 'preparing'`
)

// fromIngestions is the ingestions i into the datasets that the caller may read.
const fromIngestions = joinDatasets + `
JOIN ingestions i ON i.dataset_id = d.id` + whereReadable

// openIngestions is the ingestions of user $1 that have not ended.
const openIngestions = `
FROM ingestions i
WHERE i.started_by = $1
	AND i.status IN ('pending', 'processing')`

// namespaceRow is a namespace as a caller may see it.
type namespaceRow struct {
	ID    string `db:"id"`
	Owner string `db:"owner"`
	Name  string `db:"name"`
	storage.Access
}

// namespace finds a namespace that the caller may see.
func namespace(ctx context.Context, q queryer, caller storage.Caller, ref storage.NamespaceRef) (namespaceRow, error) {
	const query = `
SELECT n.id, n.owner, n.name,` + namespaceAccess + fromNamespaces + `
	AND n.owner = $3
	AND lower(n.name) = lower($4)`
	var found namespaceRow
	err := q.GetContext(ctx, &found, query, caller.Username, caller.Restriction, ref.Owner, ref.Name)
	return found, err
}

// ownNamespace finds a namespace for something that only its owner may do.
func ownNamespace(ctx context.Context, q queryer, caller storage.Caller, ref storage.NamespaceRef) (namespaceRow, error) {
	found, err := namespace(ctx, q, caller, ref)
	if err != nil {
		return found, err
	}
	return found, ownerOnly(caller, found.Role, "namespace")
}

// writableNamespace is ownNamespace for a change.
func writableNamespace(ctx context.Context, q queryer, caller storage.Caller, ref storage.NamespaceRef) (namespaceRow, error) {
	found, err := ownNamespace(ctx, q, caller, ref)
	if err == nil && !found.Writable {
		err = storage.ErrReadOnlyToken
	}
	return found, err
}

// accessRow is a dataset as a caller may see it.
type accessRow struct {
	ID          string `db:"id"`
	NamespaceID string `db:"namespace_id"`
	Owner       string `db:"owner"`
	Namespace   string `db:"namespace"`
	Name        string `db:"name"`
	storage.Access
}

// dataset finds a dataset that the caller may read.
func dataset(ctx context.Context, q queryer, caller storage.Caller, ref storage.DatasetRef) (accessRow, error) {
	const query = `
SELECT d.id, n.id AS namespace_id, n.owner, n.name AS namespace, d.name,` + datasetAccess + fromDatasets + `
	AND n.owner = $3
	AND lower(n.name) = lower($4)
	AND lower(d.name) = lower($5)`
	var found accessRow
	err := q.GetContext(ctx, &found, query, caller.Username, caller.Restriction, ref.Owner, ref.Namespace, ref.Name)
	return found, err
}

// ownDataset finds a dataset for something that only its owner may do.
func ownDataset(ctx context.Context, q queryer, caller storage.Caller, ref storage.DatasetRef) (accessRow, error) {
	found, err := dataset(ctx, q, caller, ref)
	if err != nil {
		return found, err
	}
	return found, ownerOnly(caller, found.Role, "dataset")
}

// writableDataset is ownDataset for a change.
func writableDataset(ctx context.Context, q queryer, caller storage.Caller, ref storage.DatasetRef) (accessRow, error) {
	found, err := ownDataset(ctx, q, caller, ref)
	if err == nil && !found.Writable {
		err = storage.ErrReadOnlyToken
	}
	return found, err
}

// editableDataset finds a dataset for something that its owner and editors may
// do.
func editableDataset(ctx context.Context, q queryer, caller storage.Caller, ref storage.DatasetRef) (accessRow, error) {
	found, err := dataset(ctx, q, caller, ref)
	if err != nil {
		return found, err
	}
	return found, found.MayEdit()
}

// editableByID checks that the caller may still write to a dataset that was
// found before.
func editableByID(ctx context.Context, q queryer, caller storage.Caller, id string) error {
	const query = `SELECT` + datasetAccess + fromDatasets + ` AND d.id = $3`
	var found storage.Access
	if err := q.GetContext(ctx, &found, query, caller.Username, caller.Restriction, id); err != nil {
		return err
	}
	return found.MayEdit()
}

func ownerOnly(caller storage.Caller, role storage.Role, thing string) error {
	switch {
	case role == storage.Owner:
		return nil
	case caller.Restricted():
		return storage.Errorf(storage.ErrForbidden, "only the owner of this %s may do this, with a token that covers all of it", thing)
	}
	return storage.Errorf(storage.ErrForbidden, "only the owner of this %s may do this", thing)
}

// mayWrite is an ErrForbidden for a caller with a read-only token, for changes to
// what belongs to no namespace.
func mayWrite(ctx context.Context, q queryer, caller storage.Caller) error {
	if !caller.Restricted() {
		return nil
	}
	var may bool
	if err := q.GetContext(ctx, &may, `SELECT `+writable, caller.Username, caller.Restriction); err != nil {
		return fmt.Errorf("read token's access: %w", err)
	}
	if !may {
		return storage.ErrReadOnlyToken
	}
	return nil
}

// mayCreateIn checks that the caller's token may create datasets in a namespace
// of the caller's own. What it does not cover and what does not exist are
// answered alike.
func mayCreateIn(ctx context.Context, q queryer, caller storage.Caller, namespace string) error {
	if !caller.Restricted() {
		return nil
	}
	if err := mayWrite(ctx, q, caller); err != nil {
		return err
	}
	const query = `
SELECT EXISTS (
	SELECT 1
	FROM namespaces n
	WHERE n.owner = $1
		AND lower(n.name) = lower($3)
		AND ` + coversNamespace + `)`
	var covered bool
	if err := q.GetContext(ctx, &covered, query, caller.Username, caller.Restriction, namespace); err != nil {
		return fmt.Errorf("read what a token covers: %w", err)
	}
	if !covered {
		return storage.Errorf(storage.ErrForbidden, "this token does not cover that namespace")
	}
	return nil
}
