package rest

import (
	"parley/internal/domain"
)

type datasetJSON struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Owner      string `json:"owner"`
	Visibility string `json:"visibility"` // always Private: the owner's and of those it is shared with
}

// maxListedMetadata limits the metadata in a list of datasets, in bytes as stored.
const maxListedMetadata = 1 << 20

func toDataset(d domain.Dataset) datasetJSON {
	return datasetJSON{Name: d.Name, Namespace: d.Namespace, Owner: d.Owner, Visibility: "Private"}
}

type datasetWithMetadata struct {
	Dataset  datasetJSON     `json:"dataset"`
	Metadata datasetMetadata `json:"metadata"`
}

// listedDataset is a dataset in a list; Metadata is nil where it was not asked for, or did
// not fit.
type listedDataset struct {
	datasetJSON
	Metadata *datasetMetadata `json:"metadata,omitempty"`
}

type datasetMetadata struct {
	ColumnNames      []string          `json:"columnNames"`
	Columns          []columnJSON      `json:"columns"`
	RowCount         *int64            `json:"rowCount,omitempty"`
	DisplayName      *string           `json:"displayName,omitempty"`
	DataDescription  *string           `json:"dataDescription,omitempty"`
	SchemaDefinition map[string]string `json:"schemaDefinition,omitzero"`
	// Access is what the caller may do: owner, editor or viewer.
	Access domain.Role `json:"access"`
}

type columnJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func toColumn(c domain.Column) columnJSON {
	if c.Type == domain.TypeUnknown {
		c.Type = "VARCHAR" // as which it reads
	}
	return columnJSON(c)
}

func (s *Server) createDataset(r *request, ref domain.DatasetRef) (any, error) {
	patch := r.optionalFields(s.cfg.MaxBody).definition()
	if err := r.err(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Store.CreateDataset(r.ctx(), r.caller, ref.Namespace, ref.Name, patch.Definition)
}

func (s *Server) getDataset(r *request, ref domain.DatasetRef) (any, error) {
	d, err := s.cfg.Store.Dataset(r.ctx(), r.caller, ref)
	if err == nil && d.RowCount < 0 {
		d.RowCount, err = s.cfg.Datasets.VisibleRows(r.ctx(), r.caller, ref)
	}
	return datasetWithMetadata{Dataset: toDataset(d), Metadata: toMetadata(d)}, err
}

// toMetadata leaves out the count of rows where the caller may see some only, and they are not
// counted.
func toMetadata(d domain.Dataset) datasetMetadata {
	m := datasetMetadata{
		ColumnNames:      toList(d.Columns, func(c domain.Column) string { return c.Name }),
		Columns:          toList(d.Columns, toColumn),
		DisplayName:      d.Definition.DisplayName,
		DataDescription:  d.Definition.Description,
		SchemaDefinition: d.Definition.Schema,
		Access:           d.Access.Strongest(),
	}
	if d.RowCount >= 0 {
		m.RowCount = &d.RowCount
	}
	return m
}

func (s *Server) getDatasets(r *request) (any, error) {
	datasets, err := s.cfg.Store.Datasets(r.ctx(), r.caller)
	return toList(datasets, toDataset), err
}

func (s *Server) getNamespaceDatasets(r *request, ref domain.NamespaceRef) (any, error) {
	withMetadata := r.Query("metadata")
	if withMetadata != "" {
		r.check("metadata", oneOf("true", "false")(withMetadata))
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	datasets, err := s.cfg.Store.NamespaceDatasets(r.ctx(), r.caller, ref)
	if err != nil || withMetadata != "true" {
		return toList(datasets, toDataset), err
	}
	described, err := s.cfg.Store.DescribedDatasets(r.ctx(), r.caller, ref, maxListedMetadata)
	metadata := map[string]*datasetMetadata{}
	for _, d := range described {
		metadata[d.Name] = new(toMetadata(d))
	}
	return toList(datasets, func(d domain.Dataset) listedDataset { return listedDataset{toDataset(d), metadata[d.Name]} }), err
}

func (s *Server) putDefinition(r *request, ref domain.DatasetRef) (any, error) {
	patch := r.fields(s.cfg.MaxBody).definition()
	if err := r.err(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Store.UpdateDefinition(r.ctx(), r.caller, ref, patch)
}
