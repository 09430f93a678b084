package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

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
