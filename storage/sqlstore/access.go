package sqlstore

import (
	"context"
	"fmt"

	"parley/internal/domain"
)

// Every statement that reads for a caller is built from the fragments in this file. Every
// statement that writes uses the id of a row that was found with them in the same
// transaction. So every operation checks the owner, the grants and the caller's token.
// Statements without a caller (of hosts, workers, retention and operators) are in the files
// that use them. A test lists the tables that other files name. The function by gives the
// parameters :caller and :restriction of the fragments.

// coversNamespace holds when the caller's token covers namespace n whole.
const coversNamespace = `(:restriction = '' OR EXISTS (
	SELECT 1
	FROM token_targets s
	WHERE s.token_id = :restriction
		AND s.namespace_id = n.id
		AND s.dataset_id IS NULL))`

// coversDataset holds when the caller's token covers dataset d of namespace n.
const coversDataset = `(:restriction = '' OR EXISTS (
	SELECT 1
	FROM token_targets s
	WHERE s.token_id = :restriction
		AND s.namespace_id = n.id
		AND (s.dataset_id IS NULL OR s.dataset_id = d.id)))`

// tokenWrites holds when the caller's token may change what it covers.
const tokenWrites = `(:restriction = '' OR EXISTS (
	SELECT 1
	FROM tokens k
	WHERE k.id = :restriction
		AND k.owner = :caller
		AND k.access = 'write'))`

// callerNames is the names in shares that mean the caller: the username, and the caller's groups.
const callerNames = `(
	SELECT CAST(:caller AS TEXT)
	UNION ALL
	SELECT c.grantee
	FROM user_claims c
	WHERE c.username = :caller
		AND c.grantee <> '')`

// namespaceRole and datasetRole are the roles of the caller's grants on namespace n and on dataset
// d, NULL without one. The stronger of several counts: editor comes first. They look grants up by
// both columns, so that nobody is slowed down by what others share with them.
const (
	namespaceRole = `(
	SELECT MIN(g.role)
	FROM namespace_grants g
	WHERE g.namespace_id = n.id
		AND g.username IN ` + callerNames + `)`
	datasetRole = `(
	SELECT MIN(g.role)
	FROM dataset_grants g
	WHERE g.dataset_id = d.id
		AND g.username IN ` + callerNames + `)`
)

// fromDatasets is the datasets d, with their namespace n and current version v, that the caller
// may read. It ends in a WHERE to which conditions can be added.
const fromDatasets = joinDatasets + whereReadable

// fromDatasetFiles is fromDatasets with the files f of each, one row at least.
const fromDatasetFiles = joinDatasets + `
LEFT JOIN dataset_files f ON f.dataset_id = d.id` + whereReadable

const (
	joinDatasets = `
FROM datasets d
JOIN namespaces n ON n.id = d.namespace_id
JOIN dataset_versions v ON v.dataset_id = d.id AND v.version = d.version`
	whereReadable = `
WHERE (n.owner = :caller OR ` + namespaceRole + ` IS NOT NULL OR ` + datasetRole + ` IS NOT NULL)
	AND ` + coversDataset
)

// hasRowRule holds for datasets d with row rules, of which the caller, who is not the owner, may see
// some rows only; none without a rule for the caller.
const hasRowRule = `(n.owner <> :caller AND EXISTS (
	SELECT 1
	FROM row_rules x
	WHERE x.dataset_id = d.id))`

// visibleRowCount is the row count of version v, -1 where the caller may see some rows only.
const visibleRowCount = `CASE WHEN ` + hasRowRule + ` THEN -1 ELSE v.row_count END AS row_count`

// datasetAccess is what the caller may do to a dataset: the stronger of two grants counts. Who may
// see some rows only changes none.
const datasetAccess = `
	CASE
		WHEN n.owner = :caller THEN 'owner'
		WHEN ` + hasRowRule + ` THEN 'viewer'
		WHEN 'editor' IN (` + namespaceRole + `, ` + datasetRole + `) THEN 'editor'
		ELSE 'viewer'
	END AS role, ` + tokenWrites + ` AS writable`

// fromNamespaces is the namespaces n that the caller may see: those that are
// the caller's or shared whole, and those with a dataset that the caller may
// read.
const fromNamespaces = `
FROM namespaces n
WHERE ((n.owner = :caller OR ` + namespaceRole + ` IS NOT NULL) AND ` + coversNamespace + `
	OR EXISTS (
		SELECT 1
		FROM datasets d
		WHERE d.namespace_id = n.id
			AND (n.owner = :caller OR ` + namespaceRole + ` IS NOT NULL OR ` + datasetRole + ` IS NOT NULL)
			AND ` + coversDataset + `))`

// namespaceAccess is what the caller may do to a namespace. The role is empty
// where only single datasets in it are for the caller to read.
const namespaceAccess = `
	CASE
		WHEN NOT ` + coversNamespace + ` THEN ''
		WHEN n.owner = :caller THEN 'owner'
		ELSE COALESCE(` + namespaceRole + `, '')
	END AS role, ` + tokenWrites + ` AS writable`

// The candidates of a list: the same rows as without them, found through an
// index rather than by looking at everyone's.
const (
	candidateDatasets = `d.id IN (
		SELECT d.id FROM datasets d JOIN namespaces n ON n.id = d.namespace_id WHERE n.owner = :caller
		UNION
		SELECT d.id FROM datasets d JOIN namespace_grants g ON g.namespace_id = d.namespace_id WHERE g.username IN ` + callerNames + `
		UNION
		SELECT g.dataset_id FROM dataset_grants g WHERE g.username IN ` + callerNames + `)`
	candidateNamespaces = `n.id IN (
		SELECT n.id FROM namespaces n WHERE n.owner = :caller
		UNION
		SELECT g.namespace_id FROM namespace_grants g WHERE g.username IN ` + callerNames + `
		UNION
		SELECT d.namespace_id FROM datasets d JOIN dataset_grants g ON g.dataset_id = d.id WHERE g.username IN ` + callerNames + `)`
)

// ownRun holds for the caller's runs r that the caller's token covers. A conversation with
// files that came with another token may show what is in them.
const ownRun = `(r.owner = :caller AND (:restriction = '' OR r.restriction = :restriction OR EXISTS (
	SELECT 1
	FROM namespaces n
	WHERE n.id = r.namespace_id AND ` + coversNamespace + `) AND NOT EXISTS (
	SELECT 1
	FROM attachments a
	WHERE a.owner = r.owner AND a.conversation_id = r.conversation_id AND a.restriction <> :restriction)))`

// ownConversation holds for the caller's conversations c in which the caller's
// token covers a run.
const ownConversation = `(c.owner = :caller AND (:restriction = '' OR EXISTS (
	SELECT 1
	FROM runs r
	WHERE r.conversation_id = c.id AND ` + ownRun + `)))`

// fromRuns, fromEvents, fromTurns, fromRatings and fromConversations are the runs r with
// their task t, those with their events e, the runs r with their conversation c, those with
// their rating t, and the conversations c that the caller may see. They end in a WHERE to which conditions can be added.
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

// rulesOfCaller is the row rules x for the caller.
const rulesOfCaller = `
FROM row_rules x
WHERE x.username IN ` + callerNames

// namedNamespace and namedDataset hold for what :owner, :namespace and :dataset name:
// see inNamespace and ofDataset.
const (
	namedNamespace = `
	AND n.owner = :owner
	AND lower(n.name) = lower(:namespace)`
	namedDataset = namedNamespace + `
	AND lower(d.name) = lower(:dataset)`
)

// selectOwnTarget is the id of the namespace $2 of the caller $1, whose token is not
// restricted. fromNamespaces gives the same; this one is many times faster, and most
// questions are about own namespaces.
const selectOwnTarget = `
SELECT n.id
FROM namespaces n
WHERE n.owner = $1
	AND lower(n.name) = lower($2)`

// tokenScopes is what the caller's tokens, or :token alone, cover of what the caller may
// see, by the names of now.
var tokenScopes = parse(`
SELECT s.token_id, n.owner, n.name AS namespace, COALESCE(d.name, '') AS dataset
FROM tokens k
JOIN token_targets s ON s.token_id = k.id
JOIN namespaces n ON n.id = s.namespace_id
LEFT JOIN datasets d ON d.id = s.dataset_id
WHERE k.owner = :caller
	AND (:token = '' OR k.id = :token)
	AND s.namespace_id IN (SELECT n.id` + fromNamespaces + `)
	AND (s.dataset_id IS NULL OR s.dataset_id IN (SELECT d.id` + fromDatasets + `))
ORDER BY s.token_id, s.position`)

// mayCancel holds for the caller's runs r that the caller's token may end: a
// read-only one ends what was asked with it.
const mayCancel = `(` + tokenWrites + ` OR r.restriction = :restriction)`

// conversationCovered is 1 when the caller has a conversation :conversation that the
// caller's token covers, 0 when the token does not cover it, and null when there
// is none.
const conversationCovered = `(
	SELECT CASE WHEN ` + ownConversation + ` THEN 1 ELSE 0 END
	FROM conversations c
	WHERE c.owner = :caller
		AND c.id = :conversation)`

// lastNamespaceID is the id of the namespace that the caller's last run in
// conversation :conversation asked.
const lastNamespaceID = `
	SELECT r.namespace_id
	FROM runs r
	WHERE r.conversation_id = :conversation
		AND r.namespace_id IS NOT NULL
		AND ` + ownRun + `
	ORDER BY r.created_at DESC, r.id DESC
	LIMIT 1`

// holdsRunAbout holds for conversations c in which a run that the caller may
// see was asked of a namespace of owner :owner, named :namespace; empty for any.
const holdsRunAbout = `EXISTS (
	SELECT 1
	FROM runs r
	JOIN namespaces n ON n.id = r.namespace_id
	WHERE r.conversation_id = c.id
		AND ` + ownRun + `
		AND (:owner = '' OR n.owner = :owner)
		AND (:namespace = '' OR lower(n.name) = lower(:namespace)))`

// visibleTitle is the title of conversation c, or for a restricted token the
// first question in it that the token covers.
const visibleTitle = `
	CASE
		WHEN :restriction = '' THEN c.title
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

// fromAttachments is the caller's attachments a that came with the caller's token, or with
// any where the caller's is not restricted.
const fromAttachments = `
FROM attachments a
WHERE a.owner = :caller
	AND (:restriction = '' OR a.restriction = :restriction)`

// ownUpload holds for the caller's upload sessions u that were prepared with
// the caller's token, or with any where the caller's is not restricted.
const ownUpload = `(u.owner = :caller AND (:restriction = '' OR u.restriction = :restriction))`

// fromUploads is the files f of the upload sessions u that the caller may see,
// openUploads those that the caller is uploading, with any token, and fromAnyUpload those of
// all users.
const (
	fromAnyUpload = `
FROM upload_sessions u
JOIN upload_files f ON f.session_id = u.id
WHERE`
	fromUploads = fromAnyUpload + ` ` + ownUpload
	openUploads = fromAnyUpload + `
	u.owner = :caller
	AND u.status = 'preparing'
	AND f.status = 'preparing'`
)

// heldBytes is how much the files and records of a user take: uploads, the datasets that the user
// owns with what describes them, attachments, and the events and results of runs. It is 0 for the
// only user with a namespace, from whom nobody else needs room.
var heldBytes = parse(`
SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM namespaces n WHERE n.owner <> :owner) THEN 0 ELSE (
	SELECT coalesce(sum(f.byte_count), 0)` + fromAnyUpload + ` u.owner = :owner AND f.status <> 'aborted'
) + (
	SELECT coalesce(sum(f.byte_count), 0)
	FROM namespaces n
	JOIN datasets d ON d.namespace_id = n.id
	JOIN dataset_files f ON f.dataset_id = d.id
	WHERE n.owner = :owner
) + (
	SELECT coalesce(sum(` + describedBytes + `), 0)
	FROM namespaces n
	JOIN datasets d ON d.namespace_id = n.id
	JOIN dataset_versions v ON v.dataset_id = d.id AND v.version = d.version
	WHERE n.owner = :owner
) + (
	SELECT coalesce(sum(a.byte_count), 0) FROM attachments a WHERE a.owner = :owner
) + (
	SELECT coalesce(sum(octet_length(r.body)), 0)
	FROM runs o
	JOIN results r ON r.run_id = o.id
	WHERE o.owner = :owner
) + (
	SELECT coalesce(sum(octet_length(e.body)), 0)
	FROM runs o
	JOIN events e ON e.run_id = o.id
	WHERE o.owner = :owner
) END`)

// fromIngestedUploads is fromUploads with the ingestions g that they are files of.
const fromIngestedUploads = `
FROM upload_sessions u
JOIN upload_files f ON f.session_id = u.id
JOIN ingestion_files g ON g.upload_file_id = f.id
WHERE ` + ownUpload

// fromIngestions is the ingestions i into the datasets that the caller may read whole: warnings
// quote cells.
const fromIngestions = joinDatasets + `
JOIN ingestions i ON i.dataset_id = d.id` + whereReadable + `
	AND NOT ` + hasRowRule

// openIngestions is the ingestions of the caller that have not ended.
const openIngestions = `
FROM ingestions i
WHERE i.started_by = :caller
	AND i.status IN ('pending', 'processing')`

// resource is a namespace or dataset as a caller may see it.
type resource struct {
	ID string
	// NamespaceID is that of a dataset.
	NamespaceID string
	domain.Access

	// kind is what it is called in errors, and restricted says that the caller's token is.
	kind       string
	restricted bool
}

var (
	selectNamespace     = parse(`SELECT n.id,` + namespaceAccess + fromNamespaces + namedNamespace)
	selectResource      = parse(`SELECT d.id, n.id AS namespace_id,` + datasetAccess + fromDatasets + namedDataset)
	datasetAccessByID   = parse(`SELECT` + datasetAccess + fromDatasets + ` AND d.id = :id`)
	selectTokenWrites   = parse(`SELECT ` + tokenWrites)
	ownNamespaceCovered = parse(`
SELECT EXISTS (
	SELECT 1
	FROM namespaces n
	WHERE n.owner = :caller
		AND lower(n.name) = lower(:namespace)
		AND ` + coversNamespace + `)`)
)

// findNamespace finds a namespace that the caller may see.
func findNamespace(ctx context.Context, q queryer, caller domain.Caller, ref domain.NamespaceRef) (resource, error) {
	found := resource{kind: "namespace", restricted: caller.Restricted()}
	err := selectNamespace.get(ctx, q, &found, inNamespace(caller, ref))
	return found, err
}

// findDataset finds a dataset that the caller may read.
func findDataset(ctx context.Context, q queryer, caller domain.Caller, ref domain.DatasetRef) (resource, error) {
	found := resource{kind: "dataset", restricted: caller.Restricted()}
	err := selectResource.get(ctx, q, &found, ofDataset(caller, ref))
	return found, err
}

// owned passes on what was found to its owner alone.
func owned(found resource, err error) (resource, error) {
	switch {
	case err != nil || found.Role == domain.Owner:
		return found, err
	case found.restricted:
		return found, domain.Errorf(domain.ErrForbidden, "only the owner of this %s may do this, with a token that covers all of it", found.kind)
	}
	return found, domain.Errorf(domain.ErrForbidden, "only the owner of this %s may do this", found.kind)
}

// writable passes on what was found unless the caller's token is read-only.
func writable(found resource, err error) (resource, error) {
	if err == nil && !found.Writable {
		err = domain.ErrReadOnlyToken
	}
	return found, err
}

// editableNamespace passes on a namespace that was found to its owner and editors.
func editableNamespace(found resource, err error) (resource, error) {
	switch {
	case err != nil || found.Role == domain.Owner || found.Role == domain.Editor:
	case found.restricted:
		err = domain.Errorf(domain.ErrForbidden, "only the owner and editors of this namespace may do this, with a token that covers all of it")
	default:
		err = domain.Errorf(domain.ErrForbidden, "only the owner and editors of this namespace may do this")
	}
	return writable(found, err)
}

// editable passes on a dataset that was found to its owner and editors.
func editable(found resource, err error) (resource, error) {
	if err == nil {
		err = found.MayEdit()
	}
	return found, err
}

// editableByID checks that the caller may still write to a dataset that was
// found before.
func editableByID(ctx context.Context, q queryer, caller domain.Caller, id string) error {
	var found domain.Access
	if err := datasetAccessByID.get(ctx, q, &found, by(caller, args{"id": id})); err != nil {
		return err
	}
	return found.MayEdit()
}

// mayWrite is an ErrForbidden for a caller with a read-only token, for changes to
// what belongs to no namespace.
func mayWrite(ctx context.Context, q queryer, caller domain.Caller) error {
	if !caller.Restricted() {
		return nil
	}
	var may bool
	if err := selectTokenWrites.get(ctx, q, &may, by(caller, nil)); err != nil {
		return fmt.Errorf("read token's access: %w", err)
	}
	if !may {
		return domain.ErrReadOnlyToken
	}
	return nil
}

// mayCreateIn checks that the caller's token may create datasets in a namespace
// of the caller's own. What it does not cover and what does not exist are
// answered alike.
func mayCreateIn(ctx context.Context, q queryer, caller domain.Caller, namespace string) error {
	if !caller.Restricted() {
		return nil
	}
	if err := mayWrite(ctx, q, caller); err != nil {
		return err
	}
	var covered bool
	if err := ownNamespaceCovered.get(ctx, q, &covered, by(caller, args{"namespace": namespace})); err != nil {
		return fmt.Errorf("read what a token covers: %w", err)
	}
	if !covered {
		return domain.Errorf(domain.ErrForbidden, "this token does not cover that namespace")
	}
	return nil
}
