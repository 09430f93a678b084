package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// Lake reads and writes the rows of datasets.
type Lake interface {
	// Query runs a statement over the datasets of a namespace that the caller
	// may read. What is wrong with it is ErrInvalid.
	Query(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, sql string) (storage.QueryResult, error)
	// AppendRows adds rows, JSON objects, to a dataset, all or none.
	AppendRows(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, rows []json.RawMessage) error
	// Wake has ingestions that were started be taken up.
	Wake()
}

type queryAnswer struct {
	Data     []json.RawMessage `json:"data"`
	Metadata queryMetadata     `json:"metadata"`
}

type queryMetadata struct {
	Count           int     `json:"count"`
	Truncated       bool    `json:"truncated"`
	ExecutedQuery   string  `json:"executedQuery"`
	OriginalQuery   string  `json:"originalQuery"`
	StartingDataset *string `json:"startingDataset"`
	FinalDataset    *string `json:"finalDataset"`
}

func (s *Server) postQuery(c *gin.Context, caller storage.Caller) error {
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	ref := storage.NamespaceRef{Owner: f.username("username", caller), Name: f.checkedText("namespace", storage.CheckName)}
	dataset := ""
	if f.has("dataset") {
		dataset = f.checkedText("dataset", storage.CheckName)
	}
	query := f.text("query")
	switch {
	case f.has("query") && f.has("naturalLanguageQuery"):
		f.refuse("query", "and naturalLanguageQuery cannot both be given")
	case f.has("naturalLanguageQuery"):
		f.refuse("naturalLanguageQuery", "is not answered yet; give a query in SQL")
	case !f.has("query"):
		f.refuse("query", "is required")
	}
	if err := f.err(); err != nil {
		return err
	}
	if dataset != "" {
		_, err := s.Store.Dataset(c.Request.Context(), caller, storage.DatasetRef{Owner: ref.Owner, Namespace: ref.Name, Name: dataset})
		if err != nil {
			return err
		}
	}
	result, err := s.Lake.Query(c.Request.Context(), caller, ref, query)
	if err != nil {
		return err
	}
	answer := queryAnswer{
		Data: result.Rows,
		Metadata: queryMetadata{
			Count:           len(result.Rows),
			Truncated:       result.Truncated,
			ExecutedQuery:   result.SQL,
			OriginalQuery:   query,
			StartingDataset: orNull(dataset),
			FinalDataset:    orNull(dataset),
		},
	}
	if answer.Data == nil {
		answer.Data = []json.RawMessage{}
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}
