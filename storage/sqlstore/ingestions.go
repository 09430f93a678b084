package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/domain"
)

type ingestionRow struct {
	domain.Ingestion
	CreatedAt int64
	Report    jsonText[domain.IngestReport]
	Options   jsonText[domain.IngestOptions]
}

const ingestionColumns = `
	i.id, i.name, i.mode, i.status, i.status_message, i.processed_bytes, i.expected_bytes, i.processed_rows, i.seen, i.created_at, i.report, i.options`

func (r ingestionRow) ingestion() domain.Ingestion {
	r.Ingestion.CreatedAt = fromMillis(r.CreatedAt)
	r.Ingestion.Report, r.Ingestion.Options = r.Report.value, r.Options.value
	return r.Ingestion
}

var (
	countOpenIngestions = parse(`SELECT COUNT(*)` + openIngestions)
	ingestionsBefore    = parse(`SELECT ` + ingestionColumns + fromIngestions + `
	AND d.id = :dataset_id
	AND i.created_at < :before
ORDER BY i.created_at DESC, i.id DESC
LIMIT :limit`)
	// ingestionsOfMoment is the rest of those that were started at the same moment.
	ingestionsOfMoment = parse(`SELECT ` + ingestionColumns + fromIngestions + `
	AND d.id = :dataset_id
	AND i.created_at = :created_at
	AND i.id < :id
ORDER BY i.id DESC`)
	selectIngestion = parse(`SELECT i.dataset_id, i.name, i.mode, i.status, i.options,` + datasetAccess + fromIngestions + ` AND i.id = :id`)
)

// StartIngestion is for the dataset's owner and editors, with files that the caller has
// uploaded: others are ErrInvalid. Done again it changes nothing; an id that stands for another
// dataset, mode, options or files is ErrConflict. One too many is ErrTooMany. What is refused
// changes nothing. Many tables are begun in several transactions, between which others write: what a
// failure leaves out is begun when it is done again.
func (s *Store) StartIngestion(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, ingestion domain.NewIngestion) error {
	begin := func(some domain.NewIngestion, check bool) error {
		return s.inOwnerTx(ctx, "start ingestion", ref.Owner, func(tx *transaction) error {
			if check {
				if err := mayStart(ctx, tx, caller, ref, ingestion); err != nil {
					return err
				}
				if err := mayFill(ctx, tx, caller, ref, ingestion); err != nil {
					return err
				}
			}
			return s.begin(ctx, tx, caller, ref, some)
		})
	}
	if len(ingestion.Tables) == 0 {
		return begin(ingestion, true)
	}
	for i := 0; i < len(ingestion.Tables); i += tablesAtOnce {
		some := ingestion
		some.Tables = ingestion.Tables[i:min(i+tablesAtOnce, len(ingestion.Tables))]
		if err := begin(some, i == 0); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx) // the client may go
	}
	return nil
}

// tablesAtOnce is how many tables one transaction begins to ingest.
const tablesAtOnce = 10

// begin starts ingestions of the same files.
func (s *Store) begin(ctx context.Context, tx *transaction, caller domain.Caller, ref domain.DatasetRef, ingestion domain.NewIngestion) error {
	var files []domain.UploadFile
	for name, one := range ingestion.Each(ref.Name) {
		ref.Name = name
		datasetID, err := s.datasetToFill(ctx, tx, caller, ref, one.Define)
		if err != nil {
			return err
		}
		if files == nil {
			if files, err = completedUploads(ctx, tx, caller, one.Files); err != nil {
				return err
			}
		}
		if err := s.addIngestion(ctx, tx, caller, datasetID, one, files); err != nil {
			return err
		}
	}
	return nil
}

// mayStart refuses what is beyond a limit before any of it is done.
func mayStart(ctx context.Context, tx *transaction, caller domain.Caller, ref domain.DatasetRef, ingestion domain.NewIngestion) error {
	var ids, names []string
	for name, one := range ingestion.Each(ref.Name) {
		ids, names = append(ids, one.ID), append(names, strings.ToLower(name))
	}
	var open, there, datasets, found int
	if err := countOpenIngestions.get(ctx, tx, &open, by(caller, nil)); err != nil {
		return err
	}
	if open+len(ids) > domain.MaxOpenIngestions {
		if err := getIn(ctx, tx, &there, `SELECT COUNT(*) FROM ingestions WHERE id IN (:ids)`, args{"ids": ids}); err != nil {
			return err
		}
		if open+len(ids)-there > domain.MaxOpenIngestions {
			return domain.Errorf(domain.ErrTooMany, "%d of your ingestions have not ended, of at most %d; start more when some have", open, domain.MaxOpenIngestions)
		}
	}
	if len(ingestion.Tables) == 0 {
		return nil
	}
	const inNamespace = `SELECT COUNT(*) FROM datasets d JOIN namespaces n ON n.id = d.namespace_id WHERE n.owner = :owner AND lower(n.name) = lower(:namespace)`
	a := args{"owner": ref.Owner, "namespace": ref.Namespace, "names": names}
	if err := getIn(ctx, tx, &datasets, inNamespace, a); err != nil {
		return err
	}
	if err := getIn(ctx, tx, &found, inNamespace+` AND lower(d.name) IN (:names)`, a); err != nil {
		return err
	}
	if datasets+len(names)-found > maxDatasets {
		return tooManyDatasets(datasets)
	}
	return nil
}

// mayFill refuses tables of which the caller may not fill one. An owner may fill all, with a token
// for all.
func mayFill(ctx context.Context, tx *transaction, caller domain.Caller, ref domain.DatasetRef, ingestion domain.NewIngestion) error {
	if ref.Owner == caller.Username && !caller.Restricted() {
		return nil
	}
	for _, table := range ingestion.Tables {
		ref.Name = table.Dataset
		_, err := editable(findDataset(ctx, tx, caller, ref))
		if errors.Is(err, sql.ErrNoRows) && ref.Owner == caller.Username {
			err = mayCreateIn(ctx, tx, caller, ref.Namespace)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// datasetToFill finds the dataset of an ingestion. Where the ingestion defines it,
// it is made when there is none, or changed.
func (s *Store) datasetToFill(ctx context.Context, tx *transaction, caller domain.Caller, ref domain.DatasetRef, define *domain.DefinitionPatch) (string, error) {
	found, err := editable(findDataset(ctx, tx, caller, ref))
	switch {
	case define == nil:
		return found.ID, err
	case errors.Is(err, sql.ErrNoRows) && ref.Owner == caller.Username:
		return s.createDataset(ctx, tx, caller, ref.Namespace, ref.Name, define.Definition)
	case err != nil:
		return "", err
	}
	return found.ID, s.updateDefinition(ctx, tx, found.ID, *define)
}

// completedUploads finds files that the caller has uploaded.
func completedUploads(ctx context.Context, tx *transaction, caller domain.Caller, wanted []domain.IngestFile) ([]domain.UploadFile, error) {
	var files []domain.UploadFile
	var wrong []domain.FieldError
	for i, want := range wanted {
		session, err := readUploadSession(ctx, tx, caller, want.SessionID)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return nil, err
		}
		file, ok := session.File(want.FileID)
		if slices.ContainsFunc(files, func(f domain.UploadFile) bool { return ok && f.ID == file.ID }) {
			wrong = append(wrong, domain.FieldError{Field: fmt.Sprintf("files[%d]", i), Message: "is there already"})
		}
		if !ok || file.Status != domain.UploadCompleted {
			wrong = append(wrong, domain.FieldError{Field: fmt.Sprintf("files[%d]", i), Message: "is not a file whose upload was finished"})
		}
		files = append(files, file)
	}
	if len(wrong) > 0 {
		return nil, domain.Invalid(wrong...)
	}
	return files, nil
}

// addIngestion adds an ingestion, once: where it is there already, nothing changes.
func (s *Store) addIngestion(ctx context.Context, tx *transaction, caller domain.Caller, datasetID string, ingestion domain.NewIngestion, files []domain.UploadFile) error {
	name, bytes := ingestion.Name, int64(0)
	if name == "" {
		name = files[0].Filename
		if more := len(files) - 1; more > 0 {
			name = fmt.Sprintf("%s and %d more", name, more)
		}
	}
	for _, file := range files {
		bytes += file.Size
	}
	added, err := exec(ctx, tx, `
INSERT INTO ingestions (id, dataset_id, started_by, restriction, name, mode, status, status_message,
	processed_bytes, expected_bytes, processed_rows, attempts, seen, created_at, updated_at, options)
VALUES ($1, $2, $3, $4, $5, $6, 'pending', '', 0, $7, 0, 0, $8, $9, $9, $10)
ON CONFLICT (id) DO NOTHING`,
		ingestion.ID, datasetID, caller.Username, caller.Restriction, name, ingestion.Mode, bytes, false, s.millis(), jsonText[domain.IngestOptions]{ingestion.Options})
	if err != nil {
		return err
	}
	if added == 0 {
		return sameIngestion(ctx, tx, datasetID, ingestion, files)
	}
	for i, file := range files {
		_, err := exec(ctx, tx, `
INSERT INTO ingestion_files (ingestion_id, position, upload_file_id)
VALUES ($1, $2, $3)`, ingestion.ID, i, file.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// sameIngestion checks that the ingestion of an id is the one that is asked for:
// of the same dataset, mode, options and files, which are one user's.
func sameIngestion(ctx context.Context, tx *transaction, datasetID string, ingestion domain.NewIngestion, files []domain.UploadFile) error {
	var there ingestionAccess
	if err := tx.GetContext(ctx, &there, `SELECT dataset_id, mode, options FROM ingestions WHERE id = $1`, ingestion.ID); err != nil {
		return err
	}
	theirs, err := ingestionFiles(ctx, tx, ingestion.ID)
	if err != nil {
		return err
	}
	sameFile := func(a, b domain.UploadFile) bool { return a.ID == b.ID }
	if there.DatasetID != datasetID || there.Mode != ingestion.Mode || !there.Options.value.Equal(ingestion.Options) || !slices.EqualFunc(theirs, files, sameFile) {
		return domain.Errorf(domain.ErrConflict, "there is another ingestion with this id")
	}
	return nil
}

// Ingestions lists those of a dataset that the caller may read, newest first, limit that were
// started before; and more where the last was started in one millisecond with others, so that
// its time leads on to all that are left.
func (s *Store) Ingestions(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, before time.Time, limit int) ([]domain.Ingestion, error) {
	found, err := findDataset(ctx, s, caller, ref)
	if err != nil {
		return nil, wrap("find dataset", err)
	}
	var rows, more []ingestionRow
	a := by(caller, args{"dataset_id": found.ID, "before": before.UnixMilli(), "limit": limit})
	if err := ingestionsBefore.list(ctx, s, &rows, a); err != nil {
		return nil, wrap("list ingestions", err)
	}
	if n := len(rows); n > 0 && n == limit {
		a["created_at"], a["id"] = rows[n-1].CreatedAt, rows[n-1].ID
		if err := ingestionsOfMoment.list(ctx, s, &more, a); err != nil {
			return nil, wrap("list ingestions", err)
		}
	}
	list := each(append(rows, more...), ingestionRow.ingestion)
	return list, s.addKeptFiles(ctx, caller, list)
}

// addKeptFiles adds to ingestions those of their files that the caller has uploaded.
func (s *Store) addKeptFiles(ctx context.Context, caller domain.Caller, ingestions []domain.Ingestion) error {
	at := map[string]int{}
	ids := make([]string, len(ingestions))
	for i, each := range ingestions {
		at[each.ID], ids[i] = i, each.ID
	}
	for some := range lists(ids) {
		var files []struct {
			IngestionID string
			domain.IngestFile
		}
		err := selectIn(ctx, s, &files, `SELECT g.ingestion_id, u.id AS session_id, f.id AS file_id`+fromIngestedUploads+`
	AND g.ingestion_id IN (:ingestions)
ORDER BY g.ingestion_id, g.position`, by(caller, args{"ingestions": some}))
		if err != nil {
			return wrap("list files of ingestions", err)
		}
		for _, file := range files {
			i := at[file.IngestionID]
			ingestions[i].Files = append(ingestions[i].Files, file.IngestFile)
		}
	}
	return nil
}

// editableIngestion finds an ingestion for its dataset's owner and editors.
func editableIngestion(ctx context.Context, tx *transaction, caller domain.Caller, id string) (row ingestionAccess, err error) {
	if err := selectIngestion.get(ctx, tx, &row, by(caller, args{"id": id})); err != nil {
		return row, err
	}
	return row, row.MayEdit()
}

type ingestionAccess struct {
	DatasetID string
	Name      string
	Mode      domain.IngestMode
	Status    domain.IngestionStatus
	Options   jsonText[domain.IngestOptions]
	domain.Access
}

// RetryIngestion starts a failed ingestion again, as a new one with newID and the same options.
// The rules are those of StartIngestion.
func (s *Store) RetryIngestion(ctx context.Context, caller domain.Caller, id, newID string) error {
	return s.inTx(ctx, "retry ingestion", func(tx *transaction) error {
		found, err := editableIngestion(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		if found.Status != domain.IngestionFailed {
			return domain.Errorf(domain.ErrInvalid, "only a failed ingestion can be retried; this one is %s", found.Status)
		}
		files, err := ingestionFiles(ctx, tx, id)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return domain.Errorf(domain.ErrInvalid, "the files of this ingestion are no longer kept; upload them again")
		}
		again := domain.NewIngestion{ID: newID, Name: found.Name, Mode: found.Mode, Options: found.Options.value}
		if err := mayStart(ctx, tx, caller, domain.DatasetRef{}, again); err != nil {
			return err
		}
		return s.addIngestion(ctx, tx, caller, found.DatasetID, again, files)
	})
}

// MarkIngestionSeen records that the user has seen the result of an ingestion.
func (s *Store) MarkIngestionSeen(ctx context.Context, caller domain.Caller, id string) error {
	return s.inTx(ctx, "mark ingestion seen", func(tx *transaction) error {
		if _, err := editableIngestion(ctx, tx, caller, id); err != nil {
			return err
		}
		return execOne(ctx, tx, `UPDATE ingestions SET seen = $2 WHERE id = $1`, id, true)
	})
}

// ingestionFiles returns the files of an ingestion, in order.
func ingestionFiles(ctx context.Context, tx *transaction, id string) ([]domain.UploadFile, error) {
	files := []domain.UploadFile{}
	err := tx.SelectContext(ctx, &files, `
SELECT `+fileColumns+`
FROM ingestion_files g
JOIN upload_files f ON f.id = g.upload_file_id
WHERE g.ingestion_id = $1
ORDER BY g.position`, id)
	if err != nil {
		return nil, fmt.Errorf("read ingestion's files: %w", err)
	}
	return files, nil
}
