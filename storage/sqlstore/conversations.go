package sqlstore

import (
	"context"
	"fmt"
	"iter"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// turnPage is how many turns of a conversation are in memory at a time, and
// turnPageText the same in SQL.
const (
	turnPage     = 16
	turnPageText = "16"
)

type conversationRow struct {
	ID        string `db:"id"`
	Title     string `db:"title"`
	CreatedAt int64  `db:"created_at"`
	UpdatedAt int64  `db:"updated_at"`
}

func (r conversationRow) conversation() storage.Conversation {
	return storage.Conversation{
		ID:        r.ID,
		Title:     storage.Title(r.Title),
		CreatedAt: fromMillis(r.CreatedAt),
		UpdatedAt: fromMillis(r.UpdatedAt),
	}
}

// Conversations implements storage.Conversations.
func (s *Store) Conversations(ctx context.Context, caller storage.Caller, in storage.NamespaceRef) ([]storage.Conversation, error) {
	const query = `
SELECT c.id, ` + visibleTitle + ` AS title, c.created_at, c.updated_at` + fromConversations + `
	AND ($3 = '' AND $4 = '' OR ` + holdsRunAbout + `)
ORDER BY c.updated_at DESC, c.id DESC`
	var rows []conversationRow
	if err := s.SelectContext(ctx, &rows, query, caller.Username, caller.Restriction, in.Owner, in.Name); err != nil {
		return nil, fmt.Errorf("list conversations: %w", classify(err))
	}
	conversations := make([]storage.Conversation, len(rows))
	for i, row := range rows {
		conversations[i] = row.conversation()
	}
	return conversations, nil
}

// turnRow is a turn with what its conversation is called.
type turnRow struct {
	Title     string
	ID        string
	Question  string
	Status    storage.RunStatus
	Result    []byte
	CreatedAt int64
}

func (r turnRow) turn() storage.Turn {
	return storage.Turn{RunID: r.ID, Question: r.Question, Status: r.Status, Result: r.Result}
}

// Conversation implements storage.Conversations. No connection is held while
// the caller works on a turn, however slow it is.
func (s *Store) Conversation(ctx context.Context, caller storage.Caller, id string) (string, iter.Seq2[storage.Turn, error], error) {
	first, err := s.turns(ctx, caller, id, turnRow{CreatedAt: -1})
	if err == nil && len(first) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return "", nil, err
	}
	title := first[0].Title
	if caller.Restricted() {
		// The first question of all may not be for this token to see.
		title = storage.Title(first[0].Question)
	}
	return title, func(yield func(storage.Turn, error) bool) {
		for page := first; ; {
			for _, row := range page {
				if !yield(row.turn(), nil) {
					return
				}
			}
			if len(page) < turnPage {
				return
			}
			var err error
			if page, err = s.laterTurns(ctx, caller, id, page[len(page)-1]); err != nil {
				yield(storage.Turn{}, err)
				return
			}
		}
	}, nil
}

// laterTurns is turns for a conversation that is being read: when nothing
// follows, either it has been read whole, or it was deleted meanwhile.
func (s *Store) laterTurns(ctx context.Context, caller storage.Caller, id string, after turnRow) ([]turnRow, error) {
	page, err := s.turns(ctx, caller, id, after)
	if err != nil || len(page) > 0 {
		return page, err
	}
	first, err := s.turns(ctx, caller, id, turnRow{CreatedAt: -1})
	if err == nil && len(first) == 0 {
		err = fmt.Errorf("read conversation: %w", storage.ErrNotFound)
	}
	return nil, err
}

// turns reads a page of a conversation, from after a turn on.
func (s *Store) turns(ctx context.Context, caller storage.Caller, id string, after turnRow) ([]turnRow, error) {
	// The number of rows is in the text: as a parameter it would have SQLite
	// plan the query anew each time.
	const query = `
SELECT c.title, r.id, r.question, r.status, r.result, r.created_at` + fromTurns + `
	AND r.conversation_id = $3
	AND (r.created_at, r.id) > ($4, $5)
ORDER BY r.created_at, r.id
LIMIT ` + turnPageText
	// Scanned by hand: of what a reader waits for, this is the most.
	page := make([]turnRow, 0, 4)
	err := s.eachRow(ctx, query, func(rows *sqlx.Rows) error {
		var row turnRow
		err := rows.Scan(&row.Title, &row.ID, &row.Question, &row.Status, &row.Result, &row.CreatedAt)
		page = append(page, row)
		return err
	}, caller.Username, caller.Restriction, id, after.CreatedAt, after.ID)
	if err != nil {
		return nil, fmt.Errorf("read conversation: %w", classify(err))
	}
	return page, nil
}

// DeleteConversation implements storage.Conversations.
func (s *Store) DeleteConversation(ctx context.Context, caller storage.Caller, id string) error {
	return s.inTx(ctx, "delete conversation", func(tx *sqlx.Tx) error {
		// Held first, so that no run can be asked in it between the check and
		// the deletion.
		if err := execOne(ctx, tx, holdConversation, caller.Username, id); err != nil {
			return err
		}
		var covered bool
		err := tx.GetContext(ctx, &covered, `
SELECT `+coversConversation+fromConversations+`
	AND c.id = $3`, caller.Username, caller.Restriction, id)
		if err != nil {
			return err
		}
		if !covered {
			return storage.Errorf(storage.ErrForbidden, "the conversation holds runs that this token does not cover")
		}
		if err := mayWrite(ctx, tx, caller); err != nil {
			return err
		}
		return execOne(ctx, tx, `DELETE FROM conversations WHERE owner = $1 AND id = $2`, caller.Username, id)
	})
}
