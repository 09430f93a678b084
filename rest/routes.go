package rest

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/rest/middleware"
	"parley/rest/openapi"
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
	store, docs := s.cfg.Store, openapi.Docs{AuthURL: s.cfg.Page.AuthURL}
	namespace, dataset, user := (*request).namespace, (*request).dataset, (*request).user
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		s.engine.Handle(method, "/healthz", s.answer(s.getHealth))
		s.engine.Handle(method, "/readyz", s.answer(s.getReady))
		s.public(method, "/metrics", serveHandler(promhttp.HandlerFor(s.cfg.Metrics, promhttp.HandlerOpts{})))
		s.public(method, "/openapi.yaml", docs.Document)
		s.public(method, "/docs", docs.Page)
		s.public(method, "/docs/style.css", docs.Style)
		s.public(method, Root+"/a2a", serve(s.cfg.Agents.ServeCatalog))
		s.public(method, Root+"/a2a/:agent/.well-known/agent-card.json", s.getCard)
		s.public(method, Root+"/a2a/:agent/v0.3/.well-known/agent-card.json", s.getLegacyCard)
		s.public(method, Root+"/a2a/:agent/v0.3/.well-known/agent.json", s.getLegacyCard)
		s.public(method, "/.well-known/agent.json", s.getLegacyCard)
		s.public(method, Root+"/a2a/.well-known/agent-card.json", s.getRootCard)
		s.public(method, "/.well-known/agent-card.json", s.getRootCard)
		s.public(method, "/.well-known/ai-catalog.json", serve(s.cfg.Agents.ServeAICatalog))
		s.public(method, "/.well-known/jwks.json", serve(s.cfg.Agents.ServeKeys))
	}

	s.handle(http.MethodGet, "/permissions/datasets"+inDataset+"/shares", http.StatusOK, getShares(dataset, store.DatasetShares))
	s.handle(http.MethodPost, "/permissions/datasets"+inDataset+"/shares", http.StatusOK, share(s, dataset, store.ShareDataset))
	s.handle(http.MethodDelete, "/permissions/datasets"+inDataset+"/shares", http.StatusOK, revokeShare(s, dataset, store.RevokeDatasetShare))
	s.handle(http.MethodGet, "/permissions/datasets"+inDataset+"/rules", http.StatusOK, on(dataset, s.getRowRules))
	s.handleQueued(http.MethodPost, "/permissions/datasets"+inDataset+"/rules", http.StatusOK, on(dataset, s.setRowRule))
	s.handle(http.MethodDelete, "/permissions/datasets"+inDataset+"/rules", http.StatusOK, on(dataset, s.deleteRowRule))
	s.handle(http.MethodGet, "/permissions/namespaces"+inNamespace+"/shares", http.StatusOK, getShares(namespace, store.NamespaceShares))
	s.handle(http.MethodPost, "/permissions/namespaces"+inNamespace+"/shares", http.StatusOK, share(s, namespace, store.ShareNamespace))
	s.handle(http.MethodDelete, "/permissions/namespaces"+inNamespace+"/shares", http.StatusOK, revokeShare(s, namespace, store.RevokeNamespaceShare))

	s.handle(http.MethodPost, "/ingest/new/:namespace/:datasetName", http.StatusCreated, on((*request).ownDataset, s.createDataset))
	s.handle(http.MethodGet, "/data"+inDataset, http.StatusOK, on(dataset, s.getDataset))
	s.handle(http.MethodGet, "/data"+inDataset+"/profile", http.StatusOK, on(dataset, s.getProfile))
	s.handleQueued(http.MethodGet, "/data"+inDataset+"/rows", http.StatusOK, on(dataset, s.getRows))
	s.stream(http.MethodGet, "/data"+inDataset+"/download", s.getDownload)
	s.handleQueued(http.MethodGet, "/data"+inDataset+"/links", http.StatusOK, on(dataset, s.getLinks))
	s.handle(http.MethodPut, "/data"+inDataset+"/links", http.StatusOK, on(dataset, s.putLinks))
	s.handle(http.MethodPut, "/data"+inDataset+"/inferDefinition", http.StatusCreated, on(dataset, s.putDefinition))
	s.handle(http.MethodPost, "/data"+inDataset+"/clear", http.StatusOK, do(dataset, store.ClearDataset))
	s.handle(http.MethodPost, "/data"+inDataset+"/rename", http.StatusOK, rename(s, dataset, store.RenameDataset))
	s.handle(http.MethodDelete, "/data"+inDataset, http.StatusNoContent, do(dataset, store.DeleteDataset))
	s.handle(http.MethodDelete, "/data"+inDataset+"/balefire", http.StatusOK, do(dataset, store.DeleteDataset))
	s.handle(http.MethodPost, "/data"+inNamespace+"/rename", http.StatusOK, rename(s, namespace, store.RenameNamespace))
	s.handleLong(http.MethodDelete, "/data"+inNamespace, http.StatusNoContent, on(namespace, s.deleteNamespace))

	s.handle(http.MethodGet, "/schema/:user/namespaces", http.StatusOK, on(user, s.getNamespaces))
	s.handle(http.MethodGet, "/schema/:user/:namespace/datasets", http.StatusOK, on((*request).userNamespace, s.getNamespaceDatasets))
	s.handle(http.MethodGet, "/schema/datasets/all", http.StatusOK, s.getDatasets)

	s.handle(http.MethodPost, "/file-upload/prepare", http.StatusOK, s.prepareUpload)
	s.handleLong(http.MethodPost, "/file-upload/:sessionId/files/:fileId/finish", http.StatusOK, s.finishUpload)
	s.handle(http.MethodGet, "/file-upload/:sessionId/files/:fileId/parts", http.StatusOK, on(pathID("sessionId"), s.getUploadParts))
	s.handle(http.MethodGet, "/file-upload/:sessionId/files", http.StatusOK, on(pathID("sessionId"), s.getUploadedFiles))
	s.handle(http.MethodPost, "/file-upload/:sessionId/abort", http.StatusOK, on(pathID("sessionId"), s.abortUpload))
	if s.cfg.Parts != nil {
		s.engine.Handle(http.MethodPut, Root+PartPath, s.answer(func(c *gin.Context) error { return s.cfg.Parts(c.Writer, c.Request) }))
	}

	s.handle(http.MethodPost, "/ingest/:namespace/:datasetName", http.StatusOK, s.queued(s.large, s.appendRows))
	s.handle(http.MethodPost, rowsForNew, http.StatusOK, s.queued(s.large, s.appendRowsToNew))
	s.handle(http.MethodPost, "/data"+inDataset+"/ingest", http.StatusAccepted, on(dataset, s.startIngestion))
	s.handleLong(http.MethodPost, "/data"+inDataset+"/ingest/tables", http.StatusAccepted, s.queued(s.infer, on(dataset, s.ingestTables)))
	s.handle(http.MethodGet, "/data"+inDataset+"/ingest/attempts", http.StatusOK, on(dataset, s.getAttempts))
	s.handle(http.MethodPost, "/ingestionTracking/:ingestionId/retry", http.StatusCreated, on(pathID("ingestionId"), s.retryIngestion))
	s.handle(http.MethodPost, "/ingestionTracking/:ingestionId/seen", http.StatusNoContent, do(pathID("ingestionId"), store.MarkIngestionSeen))
	s.handleLong(http.MethodPost, "/ingest/preview", http.StatusOK, s.queued(s.infer, s.previewFile))
	s.handle(http.MethodPost, "/upload/multipart"+inDataset+"/prepare", http.StatusOK, on(dataset, s.prepareDatasetUpload))
	s.handleLong(http.MethodPost, "/upload/multipart"+inDataset+"/finish", http.StatusCreated, on(dataset, s.finishDatasetUpload))
	s.handle(http.MethodPost, "/upload/multipart"+inDataset+"/abort", http.StatusOK, on(dataset, s.abortDatasetUpload))

	s.handleLong(http.MethodPost, "/infer/description", http.StatusOK, s.queued(s.infer, s.inferDescription))
	s.handleLong(http.MethodPost, "/infer/schema", http.StatusOK, s.queued(s.infer, s.inferSchema))
	s.handleLong(http.MethodPost, "/infer/preview", http.StatusOK, s.queued(s.infer, s.preview))

	s.stream(http.MethodPost, "/query", s.postQuery)
	s.stream(http.MethodPost, "/query/ask", s.ask)
	s.stream(http.MethodPost, "/query/autorag", s.askAndWait)
	s.handle(http.MethodGet, "/query/models", http.StatusOK, s.getModels)
	s.handle(http.MethodGet, "/query/conversations", http.StatusOK, s.getConversations)
	s.stream(http.MethodGet, "/query/conversations/:conversationId", s.getConversation)
	s.handle(http.MethodPatch, "/query/conversations/:conversationId", http.StatusNoContent, s.renameConversation)
	s.handleLong(http.MethodDelete, "/query/conversations/:conversationId", http.StatusNoContent, on(pathID("conversationId"), s.deleteConversation))
	s.handle(http.MethodGet, "/query/runs/:runId", http.StatusOK, on(pathID("runId"), s.getRun))
	s.handle(http.MethodDelete, "/query/runs/:runId", http.StatusNoContent, on(pathID("runId"), s.deleteRun))
	s.stream(http.MethodPost, "/query/runs/:runId/resume", s.resumeRun)
	s.handle(http.MethodPost, "/query/runs/:runId/input", http.StatusAccepted, s.answerRun)
	s.handle(http.MethodPost, "/query/runs/:runId/feedback", http.StatusNoContent, s.rateRun)

	s.handle(http.MethodPost, "/query/runs/:runId/share", http.StatusOK, on(pathID("runId"), s.shareRun))
	s.handle(http.MethodGet, "/query/runs/:runId/share", http.StatusOK, on(pathID("runId"), s.getRunShare))
	s.handle(http.MethodDelete, "/query/runs/:runId/share", http.StatusNoContent, do(pathID("runId"), store.EndRunShare))
	s.handle(http.MethodGet, "/query/runs/:runId/receipt", http.StatusOK, on(pathID("runId"), s.getReceipt))
	s.handleLong(http.MethodPost, "/query/receipts/verify", http.StatusOK, s.queued(s.infer, s.checkReceipt))
	s.handle(http.MethodGet, "/shared/:shareId", http.StatusOK, on(pathID("shareId"), s.getShared))

	s.handle(http.MethodGet, "/verified"+inNamespace, http.StatusOK, s.getSaved(domain.VerifiedQuery))
	s.handle(http.MethodPost, "/verified"+inNamespace, http.StatusCreated, s.save(domain.VerifiedQuery))
	s.handle(http.MethodDelete, "/verified"+inNamespace+"/:queryId", http.StatusNoContent, s.deleteSaved(domain.VerifiedQuery))
	s.handle(http.MethodGet, "/boards"+inNamespace, http.StatusOK, s.getSaved(domain.PinnedQuery))
	s.handle(http.MethodPost, "/boards"+inNamespace, http.StatusCreated, s.save(domain.PinnedQuery))
	s.handle(http.MethodPatch, "/boards"+inNamespace+"/:queryId", http.StatusNoContent, s.changePin())
	s.handle(http.MethodDelete, "/boards"+inNamespace+"/:queryId", http.StatusNoContent, s.deleteSaved(domain.PinnedQuery))
	s.handle(http.MethodPut, "/boards"+inNamespace+"/:queryId/watch", http.StatusNoContent, s.watch())
	s.handle(http.MethodDelete, "/boards"+inNamespace+"/:queryId/watch", http.StatusNoContent, s.unwatch())

	s.stream(http.MethodPost, "/a2a/:agent", s.callAgent)
	s.stream(http.MethodPost, "/a2a/:agent/", s.callAgent)
	s.stream(http.MethodPost, "/a2a/:agent/:owner/:namespace", s.callAgent)
	s.stream(http.MethodPost, "/a2a/:agent/:owner/:namespace/", s.callAgent)
	s.stream(http.MethodGet, "/a2a/:agent/:owner/:namespace/.well-known/agent-card.json", s.getNamespaceCard)
	s.stream(http.MethodPost, "/a2a/:agent"+legacyPath, s.callAgent)
	s.stream(http.MethodPost, "/a2a/:agent"+legacyPath+"/", s.callAgent)
	s.routeHTTPBinding()
	s.public(http.MethodPost, grpcPath, s.callGRPC)
	s.routeSignIn()
	s.engine.Handle(http.MethodPost, mcpPath, s.answer(func(c *gin.Context) error { return s.authenticated(c, s.callMCP) }))

	s.handle(http.MethodPost, "/user/token", http.StatusOK, s.createToken)
	s.handle(http.MethodGet, "/user/tokens", http.StatusOK, s.getTokens)
	s.handle(http.MethodDelete, "/user/token/:tokenId", http.StatusOK, on(pathID("tokenId"), s.deleteToken))
	s.handle(http.MethodGet, "/user/tokens/:tokenId/permissions", http.StatusOK, on(pathID("tokenId"), s.getTokenPermissions))
}

// handle routes an operation for authenticated callers, with the status of its success. Each
// operation is routed by this, handleQueued, handleLong or stream. Reads are short requests.
func (s *Server) handle(method, path string, status int, run operation) {
	if method == http.MethodGet { // it has no body to wait for
		run = s.inShortSlot(run)
	}
	s.handleQueued(method, path, status, run)
}

// handleQueued is handle for an operation that waits in a queue of its own.
func (s *Server) handleQueued(method, path string, status int, run operation) {
	s.handleWithin(s.cfg.RequestTimeout, method, path, status, run)
}

// longTimeout limits the assembly of an object from its parts, the description of rows by a
// model, and the deletion of many records.
const longTimeout = 10 * time.Minute

// handleLong is handle for what takes as long as a large file, a model or many records.
func (s *Server) handleLong(method, path string, status int, run operation) {
	s.handleWithin(longTimeout, method, path, status, func(r *request) (any, error) {
		_ = http.NewResponseController(r.Writer).SetWriteDeadline(time.Now().Add(longTimeout + time.Minute))
		return run(r)
	})
}

func (s *Server) handleWithin(timeout time.Duration, method, path string, status int, run operation) {
	stores := s.cfg.Room != nil && method != http.MethodGet && method != http.MethodDelete && !freesRoom[lastPart(path)]
	s.stream(method, path, func(r *request) error {
		ctx, cancel := context.WithTimeout(r.ctx(), timeout)
		defer cancel()
		r.Request = r.Request.WithContext(ctx)
		if stores {
			if err := s.cfg.Room(ctx, r.caller.Username); err != nil {
				return err
			}
		}
		body, err := run(r)
		switch {
		case err != nil:
			return err
		case body == nil:
			r.Status(status)
		default:
			r.PureJSON(status, body)
		}
		return nil
	})
}

// freesRoom are the last parts of paths of operations that store nothing more.
var freesRoom = map[string]bool{"clear": true, "abort": true, "seen": true, "verify": true}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// inShortSlot makes an operation that waits for a slot of its user's short requests. It can end
// the use of the slot early: see request.endShort.
func (s *Server) inShortSlot(run operation) operation {
	return func(r *request) (any, error) {
		release, err := fair.ShortSlot(r.ctx(), s.cfg.Short, r.caller.Username)
		if err != nil {
			return nil, err
		}
		defer release()
		r.endShort = release
		return run(r)
	}
}

// stream routes an operation that writes its response, which takes as long as a run or a
// client.
func (s *Server) stream(method, path string, run func(r *request) error) {
	s.engine.Handle(method, Root+path, s.answer(func(c *gin.Context) error { return s.authenticated(c, run) }))
}

func (s *Server) authenticated(c *gin.Context, run func(r *request) error) error {
	if _, err := url.ParseQuery(c.Request.URL.RawQuery); err != nil {
		return domain.Errorf(errBadRequest, "the query of the address cannot be read")
	}
	session, err := s.session(c)
	if err != nil {
		return err
	}
	end, ok := s.open.Open(session.Caller.Username, maxUserRequests)
	if !ok {
		return domain.Errorf(domain.ErrTooMany, "you have %d open requests, which is the most; try again later", maxUserRequests)
	}
	defer end()
	valid, release := session.Context(c.Request.Context())
	defer release()
	c.Request = c.Request.WithContext(valid)
	r := &request{Context: c, caller: session.Caller}
	r.startDecoding = func() (*fair.Slot, error) { return s.acquire(r.ctx(), s.decodes, r.caller.Username) }
	defer r.endDecoding()
	err = run(r)
	if cause := context.Cause(valid); err != nil && errors.Is(cause, domain.ErrUnauthorized) {
		return cause
	}
	return err
}

// session verifies the token of a request; without one, the cookie of a browser.
func (s *Server) session(c *gin.Context) (auth.Session, error) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
	defer cancel()
	if cookie := readCookie(c, sessionCookie); cookie != "" && s.cfg.Auth.SignsIn() && len(c.Request.Header.Values("Authorization")) == 0 {
		return s.browserSession(ctx, c, cookie)
	}
	token, err := auth.Bearer(c.Request.Header)
	if err != nil {
		return auth.Session{}, err
	}
	session, err := s.cfg.Auth.Session(ctx, token)
	if err == nil {
		middleware.SetUser(c, session.Caller.Username)
	}
	return session, err
}

// public routes an operation that needs no token. Clients that do not read hold its response, so
// that each address may have a few only.
func (s *Server) public(method, path string, run func(c *gin.Context) error) {
	s.engine.Handle(method, path, s.answer(func(c *gin.Context) error {
		end, ok := s.openPublic.Open(addressOf(c), maxPublicRequests)
		if !ok {
			return domain.Errorf(domain.ErrTooMany, "your address has %d open requests without a token, which is the most; try again later", maxPublicRequests)
		}
		defer end()
		defer middleware.LimitWrites(c, s.cfg.WriteTimeout)()
		return run(c)
	}))
}

// Limits of requests that are open at a time.
const (
	// maxUserRequests is for each user, without the agents, which have limits of their own.
	maxUserRequests = 1024
	// maxPublicRequests is for each address, without a token: pages of documents have 0.5 MB.
	maxPublicRequests = 128
)

// addressOf returns the address of a client, of IPv6 that of its network.
func addressOf(c *gin.Context) string {
	address, err := netip.ParseAddr(c.ClientIP())
	if err != nil || address.Is4() || address.Is4In6() {
		return c.ClientIP()
	}
	network, _ := address.Prefix(64)
	return network.String()
}
