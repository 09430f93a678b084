package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/jmoiron/sqlx"

	"parley/internal/domain"
)

// lockConversation locks a conversation until the transaction ends.
func lockConversation(ctx context.Context, tx *transaction, owner, id string) error {
	return execOne(ctx, tx, `UPDATE conversations SET updated_at = updated_at WHERE owner = $1 AND id = $2`, owner, id)
}

// deleteEmptyConversation deletes a conversation, if it has no run.
func deleteEmptyConversation(ctx context.Context, tx *transaction, owner, id string) error {
	_, err := exec(ctx, tx, `DELETE FROM conversations WHERE owner = $1 AND id = $2 AND `+isEmptyConversation, owner, id)
	return err
}

// isEmptyConversation holds for conversations without a run.
const isEmptyConversation = `NOT EXISTS (
	SELECT 1
	FROM runs r
	WHERE r.owner = conversations.owner AND r.conversation_id = conversations.id)`

// turnPage is how many turns of a conversation are in memory at a time, and
// turnPageText the same in SQL. inlineResult is domain.InlineResult in SQL.
const (
	turnPage     = 16
	turnPageText = "16"
	inlineResult = "16384"
	// turnResult is the result of a run r, unless it is large, and its size.
	turnResult = `(SELECT CASE WHEN octet_length(x.body) <= ` + inlineResult + ` THEN x.body END FROM results x WHERE x.run_id = r.id), ` + resultBytes
)

type conversationRow struct {
	domain.Conversation
	CreatedAt int64
	UpdatedAt int64
}

func (r conversationRow) conversation() domain.Conversation {
	return domain.Conversation{
		ID: r.ID, Title: domain.Title(r.Title), CreatedAt: fromMillis(r.CreatedAt), UpdatedAt: fromMillis(r.UpdatedAt)}
}

var (
	listConversations = parse(`
SELECT c.id, ` + visibleTitle + ` AS title, c.created_at, c.updated_at` + fromConversations + `
	AND (:owner = '' AND :namespace = '' OR ` + holdsRunAbout + `)
ORDER BY c.updated_at DESC, c.id DESC`)
	selectTitle              = parse(`SELECT ` + visibleTitle + fromConversations + ` AND c.id = :conversation`)
	selectCoversConversation = parse(`SELECT ` + coversConversation + fromConversations + ` AND c.id = :conversation`)

	turnPositions = `SELECT r.created_at, r.id` + fromTurns + ` AND r.conversation_id = :conversation`
	turnPosition  = parse(turnPositions + ` AND r.id = :run`)
	// positionBefore is that of the turn so many before a position.
	positionBefore = parse(turnPositions + `
	AND (r.created_at, r.id) < (:created_at, :run)
ORDER BY r.created_at DESC, r.id DESC
LIMIT 1 OFFSET :turns`)
	// The number of rows is in the text: as a parameter it would have SQLite
	// plan the query again each time.
	turnsAfter = parse(`
SELECT c.title, r.id, r.question, r.status, ` + turnResult + `, r.created_at` + fromTurns + `
	AND r.conversation_id = :conversation
	AND (r.created_at, r.id) > (:created_at, :run)
ORDER BY r.created_at, r.id
LIMIT ` + turnPageText)
)

// Conversations lists the caller's, latest first; those about one owner's namespaces, or
// about one namespace, when in names them. They show what the caller's token covers: see Run.
func (s *Store) Conversations(ctx context.Context, caller domain.Caller, in domain.NamespaceRef) ([]domain.Conversation, error) {
	var rows []conversationRow
	err := listConversations.list(ctx, s, &rows, inNamespace(caller, in))
	return each(rows, conversationRow.conversation), wrap("list conversations", err)
}

// turnRow is a turn with the title of its conversation.
type turnRow struct {
	Title string
	domain.Run
	CreatedAt int64
}

// position is where a turn stands in its conversation.
type position struct {
	CreatedAt int64
	ID        string
}

// The positions before and after all turns.
var (
	beforeAll = position{CreatedAt: -1}
	afterAll  = position{CreatedAt: math.MaxInt64}
)

func (p position) before(q position) bool {
	return p.CreatedAt < q.CreatedAt || p.CreatedAt == q.CreatedAt && p.ID < q.ID
}

func (r turnRow) position() position { return position{r.CreatedAt, r.ID} }

// Conversation returns the title of one and its turns, oldest first. Only some of them are in
// memory at a time, and no connection is held while the caller works on a turn. A page
// before a run that is no turn of the conversation is ErrInvalid.
func (s *Store) Conversation(ctx context.Context, caller domain.Caller, id string, page domain.TurnPage) (string, iter.Seq2[domain.Run, error], error) {
	if page != (domain.TurnPage{}) {
		return s.conversationPage(ctx, caller, id, page)
	}
	first, err := s.turns(ctx, caller, id, beforeAll)
	if err == nil && len(first) == 0 {
		err = domain.ErrNotFound
	}
	if err != nil {
		return "", nil, err
	}
	title := first[0].Title
	if caller.Restricted() {
		// The first question of all may not be for this token to see.
		title = domain.Title(first[0].Question)
	}
	return title, s.eachTurn(ctx, caller, id, first, afterAll, math.MaxInt), nil
}

// conversationPage is Conversation for some of the turns.
func (s *Store) conversationPage(ctx context.Context, caller domain.Caller, id string, page domain.TurnPage) (string, iter.Seq2[domain.Run, error], error) {
	var title string
	if err := selectTitle.get(ctx, s, &title, by(caller, args{"conversation": id})); err != nil {
		return "", nil, wrap("read conversation", err)
	}
	after, before, err := s.pageBounds(ctx, caller, id, page)
	if err != nil {
		return "", nil, wrap("find page of conversation", err)
	}
	first, err := s.turns(ctx, caller, id, after)
	if err != nil {
		return "", nil, err
	}
	limit := page.Limit
	if limit == 0 {
		limit = math.MaxInt
	}
	return domain.Title(title), s.eachTurn(ctx, caller, id, first, before, limit), nil
}

// pageBounds returns the positions between which the turns of a page are.
func (s *Store) pageBounds(ctx context.Context, caller domain.Caller, id string, page domain.TurnPage) (after, before position, err error) {
	after, before = beforeAll, afterAll
	if page.Before != "" {
		err := turnPosition.get(ctx, s, &before, by(caller, args{"conversation": id, "run": page.Before}))
		if errors.Is(err, sql.ErrNoRows) {
			err = domain.Invalid(domain.FieldError{Field: "before", Message: "must be a run of the conversation"})
		}
		if err != nil {
			return after, before, err
		}
	}
	if page.Limit > 0 {
		err = positionBefore.get(ctx, s, &after, by(caller, args{
			"conversation": id, "created_at": before.CreatedAt, "run": before.ID, "turns": page.Limit}))
		if errors.Is(err, sql.ErrNoRows) {
			err = nil // there are no more than limit
		}
	}
	return after, before, err
}

// eachTurn gives turns, of which the first were read, up to a position.
func (s *Store) eachTurn(ctx context.Context, caller domain.Caller, id string, page []turnRow, end position, limit int) iter.Seq2[domain.Run, error] {
	return func(yield func(domain.Run, error) bool) {
		for count := 0; ; {
			for _, row := range page {
				if count++; count > limit || !row.position().before(end) || !yield(row.Run, nil) {
					return
				}
			}
			if len(page) < turnPage {
				return
			}
			var err error
			if page, err = s.laterTurns(ctx, caller, id, page[len(page)-1].position()); err != nil {
				yield(domain.Run{}, err)
				return
			}
		}
	}
}

// laterTurns is turns for a conversation that is being read: when no turn follows, it was
// read completely, or was deleted meanwhile.
func (s *Store) laterTurns(ctx context.Context, caller domain.Caller, id string, after position) ([]turnRow, error) {
	page, err := s.turns(ctx, caller, id, after)
	if err != nil || len(page) > 0 {
		return page, err
	}
	first, err := s.turns(ctx, caller, id, beforeAll)
	if err == nil && len(first) == 0 {
		err = fmt.Errorf("read conversation: %w", domain.ErrNotFound)
	}
	return nil, err
}

// turns reads a page of a conversation, from after a turn on.
func (s *Store) turns(ctx context.Context, caller domain.Caller, id string, after position) ([]turnRow, error) {
	// Scanned by hand, because it takes the most time of the request.
	page := make([]turnRow, 0, 4)
	err := s.eachRow(ctx, turnsAfter, by(caller, args{"conversation": id, "created_at": after.CreatedAt, "run": after.ID}), func(rows *sqlx.Rows) error {
		var row turnRow
		err := rows.Scan(&row.Title, &row.ID, &row.Question, &row.Status, (*[]byte)(&row.Result), &row.ResultBytes, &row.CreatedAt)
		page = append(page, row)
		return err
	})
	return page, wrap("read conversation", err)
}

// RenameConversation sets the title of one. ErrForbidden for a restricted token, for which
// the title is the first question that it covers.
func (s *Store) RenameConversation(ctx context.Context, caller domain.Caller, id, title string) error {
	return s.inTx(ctx, "rename conversation", func(tx *transaction) error {
		var before string
		if err := selectTitle.get(ctx, tx, &before, by(caller, args{"conversation": id})); err != nil {
			return err
		}
		if err := mayWrite(ctx, tx, caller); err != nil {
			return err
		}
		if caller.Restricted() {
			return domain.Errorf(domain.ErrForbidden, "a restricted token cannot rename conversations")
		}
		return execOne(ctx, tx, `UPDATE conversations SET title = $3 WHERE owner = $1 AND id = $2`, caller.Username, id, title)
	})
}

// DeleteConversation deletes one with its runs, a batch at a time. ErrForbidden when it holds
// runs that the caller's token does not cover.
func (s *Store) DeleteConversation(ctx context.Context, caller domain.Caller, id string) error {
	return inBatches(ctx, func() (more bool, err error) {
		err = s.inTx(ctx, "delete conversation", func(tx *transaction) error {
			// Held first, so that no run can be asked in it between the check and
			// the deletion.
			if err := lockConversation(ctx, tx, caller.Username, id); err != nil {
				return err
			}
			var covered bool
			if err := selectCoversConversation.get(ctx, tx, &covered, by(caller, args{"conversation": id})); err != nil {
				return err
			}
			if !covered {
				return domain.Errorf(domain.ErrForbidden, "the conversation holds runs that this token does not cover")
			}
			if err := mayWrite(ctx, tx, caller); err != nil {
				return err
			}
			n, err := exec(ctx, tx, `
DELETE FROM runs
WHERE id IN (
	SELECT r.id
	FROM runs r
	WHERE r.owner = $1
		AND r.conversation_id = $2
	ORDER BY r.created_at, r.id
	LIMIT `+retentionBatchText+`)`, caller.Username, id)
			if more = n == RetentionBatch; more || err != nil {
				return err
			}
			return execOne(ctx, tx, `DELETE FROM conversations WHERE owner = $1 AND id = $2`, caller.Username, id)
		})
		return more, err
	})
}
