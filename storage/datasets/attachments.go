package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// maxAttachedTables limits the datasets of one attachment.
const maxAttachedTables = 20

// SaveAttachments stores the files of a question, to be added with its run.
func (d *Datasets) SaveAttachments(ctx context.Context, caller domain.Caller, conversationID string, files []domain.AttachedFile) ([]domain.Attachment, error) {
	count, err := d.config.Records.CountAttachments(ctx, caller, conversationID)
	if err != nil {
		return nil, err
	}
	if count+len(files) > domain.MaxConversationAttachments {
		return nil, domain.Errorf(domain.ErrInvalid, "a conversation has at most %d attached files; ask in a new conversation, or upload the file as a dataset",
			domain.MaxConversationAttachments)
	}
	if err := d.config.Space.CheckFiles(ctx, caller.Username, 0); err != nil {
		return nil, err
	}
	dir, done, err := d.workDir()
	if err != nil {
		return nil, err
	}
	defer done()
	saved, keys, paths := make([]domain.Attachment, len(files)), make([]string, len(files)), make([]string, len(files))
	for i, file := range files {
		id := domain.NewID()
		keys[i], paths[i] = "attachments/"+id+"/file", filepath.Join(dir, fmt.Sprint("file", i))
		saved[i] = domain.Attachment{ID: id, Filename: file.Filename, Dataset: file.Dataset, Key: keys[i], Bytes: int64(len(file.Content))}
		if err := os.WriteFile(paths[i], file.Content, 0o600); err != nil {
			return nil, fmt.Errorf("keep an attachment: %w", err)
		}
	}
	return saved, d.put(ctx, keys, paths)
}

// Attach makes datasets of the files that a run brought. Done again, it does what is left.
// A file that cannot be read is ErrInvalid.
func (d *Datasets) Attach(ctx context.Context, caller domain.Caller, runID string) error {
	pending, err := d.config.Records.PendingAttachments(ctx, caller, runID)
	if err != nil {
		return err
	}
	for _, a := range pending {
		err := d.attach(ctx, caller, a, pending)
		// Somebody else may have done it, and removed the file.
		if err != nil && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
	}
	if len(pending) == 0 {
		return nil
	}
	left, err := d.config.Records.PendingAttachments(ctx, caller, runID)
	if err == nil && len(left) > 0 {
		err = domain.Errorf(domain.ErrInvalid, "%s is no longer there; attach it again", left[0].Filename)
	}
	return err
}

// attach makes datasets of a file, whose names differ from those of the other files of its
// message.
func (d *Datasets) attach(ctx context.Context, caller domain.Caller, a domain.Attachment, others []domain.Attachment) error {
	dir, done, err := d.workDir()
	if err != nil {
		return err
	}
	defer done()
	path, err := d.config.Objects.Source(ctx, a.Key, dir)
	if err != nil {
		return err
	}
	work := attached{Datasets: d, attachment: a, others: others, dir: dir, source: ingest.Source{Path: path, Name: a.Filename},
		admission: Admission{User: caller.Username, Unbounded: true}}
	if err := work.addTables(ctx); err != nil {
		return err
	}
	if err := d.put(ctx, work.keys, work.paths); err != nil {
		return err
	}
	return d.config.Records.CommitAttachment(ctx, caller, a.ID, work.datasets)
}

// attached is the datasets of an attachment in the making.
type attached struct {
	*Datasets
	attachment domain.Attachment
	others     []domain.Attachment
	dir        string
	source     ingest.Source
	admission  Admission
	datasets   []domain.DatasetData
	// keys are those of the files of the datasets, and paths where they are until they are stored.
	keys, paths []string
}

// addTables adds each table of the file. Of several, those that cannot be read are left
// out, unless all are.
func (a *attached) addTables(ctx context.Context) error {
	result, tables, err := a.config.Ingester.IngestOrList(ctx, a.admission, a.job("table", ""))
	switch {
	case err != nil:
		return err
	case len(tables) == 0:
		a.add(a.attachment.Dataset, result)
		return nil
	case len(tables) > maxAttachedTables:
		return domain.Errorf(domain.ErrInvalid, "%s holds %d tables, where an attachment may have %d; send the ones that the question is about",
			a.attachment.Filename, len(tables), maxAttachedTables)
	}
	var refused error
	for i, table := range tables {
		job := a.job(fmt.Sprint("table", i), table)
		result, err := a.config.Ingester.Ingest(ctx, a.admission, job)
		switch {
		case errors.Is(err, domain.ErrInvalid):
			refused = errors.Join(refused, err, os.RemoveAll(job.OutDir))
		case err != nil:
			return err
		default:
			a.add(a.unique(domain.TableName(a.attachment.Dataset, table)), result)
		}
	}
	if len(a.datasets) == 0 {
		return refused
	}
	return nil
}

// unique returns a name that no dataset of the file has, and no other file.
func (a *attached) unique(name string) string {
	return domain.UniqueName(name, func(name string) bool {
		return slices.ContainsFunc(a.datasets, func(d domain.DatasetData) bool { return strings.EqualFold(d.Name, name) }) ||
			slices.ContainsFunc(a.others, func(o domain.Attachment) bool { return o.ID != a.attachment.ID && strings.EqualFold(o.Dataset, name) })
	})
}

// job reads a table, "" for the only one, into a folder.
func (a *attached) job(folder, table string) ingest.Job {
	return ingest.Job{
		Sources: []ingest.Source{a.source}, Options: domain.IngestOptions{Sheet: table}, OutDir: filepath.Join(a.dir, folder),
	}
}

// add adds the dataset of a table.
func (a *attached) add(name string, result ingest.Result) {
	dataset := domain.DatasetData{ID: domain.NewID(), Units: map[string]string{}, Dataset: domain.Dataset{Name: name, Columns: result.Columns, RowCount: result.Rows}}
	for _, c := range result.Report.Columns {
		if c.Unit != "" {
			dataset.Units[c.Name] = c.Unit
		}
	}
	for _, file := range result.Files {
		id := domain.NewID()
		key := "attachments/" + a.attachment.ID + "/" + id + ".parquet"
		dataset.Files = append(dataset.Files, domain.DataFile{ID: id, Key: key, Rows: file.Rows, Bytes: file.Bytes, SHA256: file.SHA256})
		a.keys, a.paths = append(a.keys, key), append(a.paths, file.Path)
	}
	a.datasets = append(a.datasets, dataset)
}

// Datasets returns the datasets of a scope that the caller may read; an attachment hides a
// dataset of the same name. ErrNotFound when the caller may not see the namespace, or there
// is neither a namespace nor an attachment.
func (d *Datasets) Datasets(ctx context.Context, caller domain.Caller, in domain.DataScope) ([]domain.DatasetData, error) {
	all, err := d.datasets(ctx, caller, in)
	if err != nil {
		return nil, err
	}
	return all, d.countRows(ctx, caller, all)
}

// datasets is Datasets without the number of rows of which the caller may see some only.
func (d *Datasets) datasets(ctx context.Context, caller domain.Caller, in domain.DataScope) (all []domain.DatasetData, err error) {
	if in.Namespace != (domain.NamespaceRef{}) {
		if all, err = d.config.Records.NamespaceData(ctx, caller, in.Namespace); err != nil {
			return nil, err
		}
	}
	if in.ConversationID == "" {
		return all, nil
	}
	attached, err := d.config.Records.ConversationData(ctx, caller, in.ConversationID)
	if err != nil {
		return nil, err
	}
	if len(attached) == 0 && in.Namespace == (domain.NamespaceRef{}) {
		return nil, domain.ErrNotFound
	}
	for _, dataset := range attached {
		all = slices.DeleteFunc(all, func(d domain.DatasetData) bool { return strings.EqualFold(d.Name, dataset.Name) })
	}
	return append(all, attached...), nil
}
