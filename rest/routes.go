package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/storage"
)

// Root is the path prefix of the interface.
const Root = baseurl.Root

// PartPath is the path, below Root, of upload parts. Their URLs are signed: no token is
// needed.
const PartPath = "/objects/parts"

// Paths of a namespace and of a dataset.
const (
	inNamespace = "/:username/:namespace"
	inDataset   = inNamespace + "/:datasetName"
)

// rowsForNew is the route of rows for a namespace called "new": the router matches it with
// another path, and takes the dataset for the namespace.
const rowsForNew = "/ingest/new/:namespace"

func (s *Server) routes() {
	s.public(http.MethodGet, "/healthz", s.getHealth)
	s.public(http.MethodHead, "/healthz", s.getHealth)
	s.public(http.MethodGet, "/readyz", s.getReady)
	s.public(http.MethodHead, "/readyz", s.getReady)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		s.engine.Handle(method, "/metrics", gin.WrapH(metricsHandler(s.cfg.Metrics)))
		s.public(method, "/openapi.yaml", s.getOpenAPI)
		s.public(method, "/docs", s.getDocs)
		s.public(method, "/docs/style.css", s.getDocsStyle)
	}

	s.handle(http.MethodGet, "/permissions/datasets"+inDataset+"/shares", s.getDatasetShares)
	s.handle(http.MethodPost, "/permissions/datasets"+inDataset+"/shares", s.shareDataset)
	s.handle(http.MethodDelete, "/permissions/datasets"+inDataset+"/shares", s.revokeDatasetShare)
	s.handle(http.MethodGet, "/permissions/namespaces"+inNamespace+"/shares", s.getNamespaceShares)
	s.handle(http.MethodPost, "/permissions/namespaces"+inNamespace+"/shares", s.shareNamespace)
	s.handle(http.MethodDelete, "/permissions/namespaces"+inNamespace+"/shares", s.revokeNamespaceShare)

	s.handle(http.MethodPost, "/ingest/new/:namespace/:datasetName", s.createDataset)
	s.handle(http.MethodGet, "/data"+inDataset, s.getDataset)
	s.handle(http.MethodPut, "/data"+inDataset+"/inferDefinition", s.putDefinition)
	s.handle(http.MethodPost, "/data"+inDataset+"/clear", s.clearDataset)
	s.handle(http.MethodPost, "/data"+inDataset+"/rename", s.renameDataset)
	s.handle(http.MethodDelete, "/data"+inDataset, s.deleteDataset(http.StatusNoContent))
	s.handle(http.MethodDelete, "/data"+inDataset+"/balefire", s.deleteDataset(http.StatusOK))
	s.handle(http.MethodPost, "/data"+inNamespace+"/rename", s.renameNamespace)
	s.handle(http.MethodDelete, "/data"+inNamespace, s.deleteNamespace)

	s.handle(http.MethodGet, "/schema/:user/namespaces", s.getNamespaces)
	s.handle(http.MethodGet, "/schema/:user/:namespace/datasets", s.getNamespaceDatasets)
	s.handle(http.MethodGet, "/schema/datasets/all", s.getDatasets)

	s.handle(http.MethodPost, "/file-upload/prepare", s.queued(s.large, s.prepareUpload))
	s.stream(http.MethodPost, "/file-upload/:sessionId/files/:fileId/finish", s.withLongTimeout(s.finishUpload))
	s.handle(http.MethodGet, "/file-upload/:sessionId/files/:fileId/parts", s.getUploadParts)
	s.handle(http.MethodGet, "/file-upload/:sessionId/files", s.getUploadedFiles)
	s.handle(http.MethodPost, "/file-upload/:sessionId/abort", s.abortUpload)
	if s.cfg.Parts != nil {
		s.public(http.MethodPut, Root+PartPath, func(c *gin.Context) error { return s.cfg.Parts(c.Writer, c.Request) })
	}

	s.handle(http.MethodPost, "/ingest/:namespace/:datasetName", s.queued(s.large, s.appendRows))
	s.handle(http.MethodPost, rowsForNew, s.queued(s.large, s.appendRowsToNew))
	s.handle(http.MethodPost, "/data"+inDataset+"/ingest", s.startIngestion)
	s.handle(http.MethodGet, "/data"+inDataset+"/ingest/attempts", s.getAttempts)
	s.handle(http.MethodPost, "/ingestionTracking/:ingestionId/retry", s.retryIngestion)
	s.handle(http.MethodPost, "/ingestionTracking/:ingestionId/seen", s.markIngestionSeen)
	s.handle(http.MethodPost, "/upload/multipart"+inDataset+"/prepare", s.prepareDatasetUpload)
	s.stream(http.MethodPost, "/upload/multipart"+inDataset+"/finish", s.withLongTimeout(s.finishDatasetUpload))
	s.handle(http.MethodPost, "/upload/multipart"+inDataset+"/abort", s.abortDatasetUpload)

	s.stream(http.MethodPost, "/infer/description", s.withLongTimeout(s.queued(s.infer, s.inferDescription)))
	s.stream(http.MethodPost, "/infer/schema", s.withLongTimeout(s.queued(s.infer, s.inferSchema)))
	s.stream(http.MethodPost, "/infer/preview", s.withLongTimeout(s.queued(s.infer, s.preview)))

	s.stream(http.MethodPost, "/query", s.postQuery)
	s.stream(http.MethodPost, "/query/ask", s.ask)
	s.stream(http.MethodPost, "/query/autorag", s.askAndWait)
	s.handle(http.MethodGet, "/query/conversations", s.getConversations)
	s.stream(http.MethodGet, "/query/conversations/:conversationId", s.getConversation)
	s.handle(http.MethodDelete, "/query/conversations/:conversationId", s.deleteConversation)
	s.handle(http.MethodGet, "/query/runs/:runId", s.getRun)
	s.handle(http.MethodDelete, "/query/runs/:runId", s.deleteRun)
	s.stream(http.MethodPost, "/query/runs/:runId/resume", s.resumeRun)

	for _, method := range []string{http.MethodGet, http.MethodHead} {
		s.public(method, Root+"/a2a", s.getCatalog)
		s.public(method, Root+"/a2a/:agent/.well-known/agent-card.json", s.getCard)
	}
	s.stream(http.MethodPost, "/a2a/:agent", s.callAgent)
	s.stream(http.MethodPost, "/a2a/:agent/", s.callAgent)
	s.handle(http.MethodPost, "/query/runs/:runId/feedback", s.rateRun)

	s.handle(http.MethodPost, "/user/token", s.createToken)
	s.handle(http.MethodGet, "/user/tokens", s.getTokens)
	s.handle(http.MethodDelete, "/user/token/:tokenId", s.deleteToken)
	s.handle(http.MethodGet, "/user/tokens/:tokenId/permissions", s.getTokenPermissions)
}

// handle routes an operation for authenticated callers. Every operation is routed by this
// or by stream.
func (s *Server) handle(method, path string, operation func(c *gin.Context, caller storage.Caller) error) {
	s.stream(method, path, func(c *gin.Context, caller storage.Caller) error {
		ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		return operation(c, caller)
	})
}

// stream is handle without a timeout, for responses that take as long as a run or a client.
func (s *Server) stream(method, path string, operation func(c *gin.Context, caller storage.Caller) error) {
	s.engine.Handle(method, Root+path, s.answer(func(c *gin.Context) error { return s.authenticated(c, operation) }))
}

// longTimeout limits the assembly of an object from its parts, and the description of rows
// by a model.
const longTimeout = 10 * time.Minute

// withLongTimeout gives an operation the time that a large file or a model needs.
func (s *Server) withLongTimeout(operation func(c *gin.Context, caller storage.Caller) error) func(c *gin.Context, caller storage.Caller) error {
	return func(c *gin.Context, caller storage.Caller) error {
		ctx, cancel := context.WithTimeout(c.Request.Context(), longTimeout)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(longTimeout + time.Minute))
		return operation(c, caller)
	}
}

func (s *Server) authenticated(c *gin.Context, operation func(c *gin.Context, caller storage.Caller) error) error {
	if _, err := url.ParseQuery(c.Request.URL.RawQuery); err != nil {
		return storage.Errorf(errBadRequest, "the query of the address cannot be read")
	}
	token, err := auth.Bearer(c.Request.Header)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
	defer cancel()
	session, err := s.cfg.Auth.Session(ctx, token)
	if err != nil {
		return err
	}
	c.Set(userKey, session.Caller.Username)
	valid, release := session.Context(c.Request.Context())
	defer release()
	c.Request = c.Request.WithContext(valid)
	err = operation(c, session.Caller)
	if cause := context.Cause(valid); err != nil && errors.Is(cause, storage.ErrUnauthorized) {
		return cause
	}
	return err
}

// public routes an operation that needs no token.
func (s *Server) public(method, path string, operation func(c *gin.Context) error) {
	s.engine.Handle(method, path, s.answer(operation))
}
