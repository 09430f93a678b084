package sqlstore

import (
	"context"
	"slices"
	"strings"

	"parley/internal/domain"
)

var (
	listConversationTables = parse(`
SELECT a.tables` + fromAttachments + `
	AND a.conversation_id = :conversation
	AND a.tables <> ''
ORDER BY a.id`)
	countAttachments       = parse(`SELECT COUNT(*)` + fromAttachments + ` AND a.conversation_id = :conversation`)
	listPendingAttachments = parse(`
SELECT a.id, a.filename, a.dataset, a.object_key AS key, a.byte_count AS bytes` + fromAttachments + `
	AND a.run_id = :run
	AND a.tables = ''
ORDER BY a.id`)
	selectAttachment = parse(`SELECT a.object_key AS key, a.tables <> '' AS committed` + fromAttachments + ` AND a.id = :id`)
)

// attachedTable is the form of a dataset of an attachment in attachments.tables.
type attachedTable struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Columns []column          `json:"columns"`
	Rows    int64             `json:"rows"`
	Files   []attachedFile    `json:"files"`
	Units   map[string]string `json:"units,omitempty"`
}

type attachedFile struct {
	ID     string `json:"id"`
	Key    string `json:"key"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (t attachedTable) data(owner string) domain.DatasetData {
	return domain.DatasetData{
		ID: t.ID, Version: 1, Access: domain.Access{Role: domain.Viewer},
		Files: each(t.Files, func(f attachedFile) domain.DataFile { return domain.DataFile(f) }), Units: t.Units,
		Dataset: domain.Dataset{
			Owner: owner, Name: t.Name, RowCount: t.Rows,
			Columns: each(t.Columns, func(c column) domain.Column { return domain.Column(c) }),
		},
	}
}

func (s *Store) addAttachments(ctx context.Context, tx *transaction, run *runChange) error {
	start := run.Start
	for _, a := range start.Attachments {
		_, err := exec(ctx, tx, `
INSERT INTO attachments (id, owner, conversation_id, restriction, run_id, filename, dataset, object_key, byte_count)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			a.ID, start.Caller.Username, start.ConversationID, start.Caller.Restriction, run.RunID, a.Filename, a.Dataset, a.Key, a.Bytes)
		if err == nil {
			err = s.addAttachmentObject(ctx, tx, a.ID, domain.DataFile{Key: a.Key, Bytes: a.Bytes})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) addAttachmentObject(ctx context.Context, tx *transaction, id string, file domain.DataFile) error {
	_, err := exec(ctx, tx, `
INSERT INTO attachment_objects (object_key, attachment_id, byte_count, sha256)
VALUES ($1, $2, $3, $4)`, file.Key, id, file.Bytes, file.SHA256)
	if err != nil {
		return err
	}
	return s.adopt(ctx, tx, file.Key)
}

// ConversationData returns the datasets of the caller's conversation, of several with one name
// the last.
func (s *Store) ConversationData(ctx context.Context, caller domain.Caller, conversationID string) ([]domain.DatasetData, error) {
	var rows []struct{ Tables jsonText[[]attachedTable] }
	err := listConversationTables.list(ctx, s, &rows, by(caller, args{"conversation": conversationID}))
	if err != nil {
		return nil, wrap("read attachments", err)
	}
	var all []domain.DatasetData
	for _, row := range rows {
		for _, table := range row.Tables.value {
			all = slices.DeleteFunc(all, func(d domain.DatasetData) bool { return strings.EqualFold(d.Name, table.Name) })
			all = append(all, table.data(caller.Username))
		}
	}
	return all, nil
}

// CountAttachments counts the files of a conversation.
func (s *Store) CountAttachments(ctx context.Context, caller domain.Caller, conversationID string) (count int, err error) {
	err = countAttachments.get(ctx, s, &count, by(caller, args{"conversation": conversationID}))
	return count, wrap("count attachments", err)
}

// PendingAttachments returns the files of a run that have no datasets yet, in order.
func (s *Store) PendingAttachments(ctx context.Context, caller domain.Caller, runID string) ([]domain.Attachment, error) {
	var found []domain.Attachment
	err := listPendingAttachments.list(ctx, s, &found, by(caller, args{"run": runID}))
	return found, wrap("read attachments", err)
}

// CommitAttachment makes the datasets of a file visible, whose files were listed as orphaned
// before they were written. ErrConflict when it has some, ErrNotFound when it was deleted. The
// file itself is not needed any more.
func (s *Store) CommitAttachment(ctx context.Context, caller domain.Caller, id string, datasets []domain.DatasetData) error {
	return s.inTx(ctx, "commit attachment", func(tx *transaction) error {
		var found struct {
			Key       string
			Committed bool
		}
		if err := selectAttachment.get(ctx, tx, &found, by(caller, args{"id": id})); err != nil {
			return err
		}
		if found.Committed {
			return domain.ErrConflict
		}
		tables := each(datasets, func(d domain.DatasetData) attachedTable {
			return attachedTable{
				ID: d.ID, Name: d.Name, Rows: d.RowCount, Units: d.Units,
				Columns: each(d.Columns, func(c domain.Column) column { return column(c) }),
				Files:   each(d.Files, func(f domain.DataFile) attachedFile { return attachedFile(f) }),
			}
		})
		err := execOne(ctx, tx, `UPDATE attachments SET tables = $2 WHERE id = $1 AND tables = ''`, id, jsonText[[]attachedTable]{tables})
		if err := orConflict(err); err != nil {
			return err
		}
		for _, table := range tables {
			for _, file := range table.Files {
				if err := s.addAttachmentObject(ctx, tx, id, domain.DataFile(file)); err != nil {
					return err
				}
			}
		}
		if err := execOne(ctx, tx, `DELETE FROM attachment_objects WHERE object_key = $1`, found.Key); err != nil {
			return err
		}
		return s.addOrphan(ctx, tx, found.Key, s.now().Add(orphanTTL))
	})
}

// OrphanAttachments lists the objects of deleted attachments as orphaned.
func (s *Store) OrphanAttachments(ctx context.Context) error {
	for {
		var keys []string
		err := s.SelectContext(ctx, &keys, `
SELECT o.object_key
FROM attachment_objects o
WHERE NOT EXISTS (SELECT 1 FROM attachments a WHERE a.id = o.attachment_id)
LIMIT `+retentionBatchText)
		if err != nil || len(keys) == 0 {
			return wrap("find objects of deleted attachments", err)
		}
		err = s.inTx(ctx, "list objects of deleted attachments", func(tx *transaction) error {
			for _, key := range keys {
				if err := s.addOrphan(ctx, tx, key, s.now().Add(orphanTTL)); err != nil {
					return err
				}
			}
			return execIn(ctx, tx, `DELETE FROM attachment_objects WHERE object_key IN (:keys)`, args{"keys": keys})
		})
		if err != nil {
			return err
		}
	}
}
