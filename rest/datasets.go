package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// private is the visibility of every dataset: its owner and those it is shared with.
const private = "Private"

type datasetJSON struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Owner      string `json:"owner"`
	Visibility string `json:"visibility"`
}

func toDataset(d storage.Dataset) datasetJSON {
	return datasetJSON{Name: d.Name, Namespace: d.Namespace, Owner: d.Owner, Visibility: private}
}

func toDatasets(datasets []storage.Dataset) []datasetJSON {
	list := make([]datasetJSON, len(datasets))
	for i, d := range datasets {
		list[i] = toDataset(d)
	}
	return list
}

type datasetWithMetadata struct {
	Dataset  datasetJSON     `json:"dataset"`
	Metadata datasetMetadata `json:"metadata"`
}

type datasetMetadata struct {
	ColumnNames      []string          `json:"columnNames"`
	Columns          []columnJSON      `json:"columns"`
	RowCount         int64             `json:"rowCount"`
	DataDescription  *string           `json:"dataDescription"`
	SchemaDefinition map[string]string `json:"schemaDefinition"`
}

type columnJSON struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func (s *Server) createDataset(c *gin.Context, caller storage.Caller) error {
	p := &path{Context: c, caller: caller}
	namespace, name := p.name("namespace"), p.name("datasetName")
	if err := p.err(); err != nil {
		return err
	}
	f, err := s.readOptionalFields(c)
	if err != nil {
		return err
	}
	patch, err := f.definition()
	if err != nil {
		return err
	}
	if err := s.cfg.Store.CreateDataset(c.Request.Context(), caller, namespace, name, patch.Definition); err != nil {
		return err
	}
	c.Status(http.StatusCreated)
	return nil
}

func (s *Server) getDataset(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	d, err := s.cfg.Store.Dataset(c.Request.Context(), caller, ref)
	if err != nil {
		return err
	}
	answer := datasetWithMetadata{
		Dataset: toDataset(d),
		Metadata: datasetMetadata{
			ColumnNames:      make([]string, len(d.Columns)),
			Columns:          make([]columnJSON, len(d.Columns)),
			RowCount:         d.RowCount,
			DataDescription:  d.Definition.Description,
			SchemaDefinition: d.Definition.Schema,
		},
	}
	for i, column := range d.Columns {
		answer.Metadata.ColumnNames[i] = column.Name
		answer.Metadata.Columns[i] = columnJSON(column)
		if column.Type == storage.TypeUnknown {
			answer.Metadata.Columns[i].Type = "VARCHAR" // as which it reads
		}
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

func (s *Server) getDatasets(c *gin.Context, caller storage.Caller) error {
	datasets, err := s.cfg.Store.Datasets(c.Request.Context(), caller)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, toDatasets(datasets))
	return nil
}

func (s *Server) getNamespaceDatasets(c *gin.Context, caller storage.Caller) error {
	p := &path{Context: c, caller: caller}
	ref := storage.NamespaceRef{Owner: p.username("user"), Name: p.name("namespace")}
	if err := p.err(); err != nil {
		return err
	}
	datasets, err := s.cfg.Store.NamespaceDatasets(c.Request.Context(), caller, ref)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, toDatasets(datasets))
	return nil
}

func (s *Server) clearDataset(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	return s.cfg.Store.ClearDataset(c.Request.Context(), caller, ref)
}

func (s *Server) renameDataset(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	name, err := s.readNewName(c)
	if err != nil {
		return err
	}
	return s.cfg.Store.RenameDataset(c.Request.Context(), caller, ref, name)
}

// deleteDataset answers with the status that belongs to the path.
func (s *Server) deleteDataset(success int) func(*gin.Context, storage.Caller) error {
	return func(c *gin.Context, caller storage.Caller) error {
		ref, err := datasetRef(c, caller)
		if err != nil {
			return err
		}
		if err := s.cfg.Store.DeleteDataset(c.Request.Context(), caller, ref); err != nil {
			return err
		}
		c.Status(success)
		return nil
	}
}

// definition reads the fields of an inference definition. An absent field keeps its value,
// null clears it.
func (f fields) definition() (storage.DefinitionPatch, error) {
	var patch storage.DefinitionPatch
	_, patch.SetDescription = f.members["dataDescription"]
	_, patch.SetSchema = f.members["schemaDefinition"]
	if f.has("dataDescription") {
		text := f.text("dataDescription")
		patch.Description = &text
	}
	patch.Schema = f.texts("schemaDefinition")
	*f.wrong = append(*f.wrong, patch.Check()...)
	return patch, f.err()
}

func (s *Server) putDefinition(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	patch, err := f.definition()
	if err != nil {
		return err
	}
	if err := s.cfg.Store.UpdateDefinition(c.Request.Context(), caller, ref, patch); err != nil {
		return err
	}
	c.Status(http.StatusCreated)
	return nil
}
