package rest

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"parley/internal/domain"
	"parley/internal/fair"
)

var (
	// bodyQueue is for receiving bodies that are larger than MaxBody. Clients that send slowly
	// hold slots for a minute, so that nobody may wait for those of others: the memory is that
	// of Slots bodies, and of one for each user.
	bodyQueue = fair.Config{What: "large bodies", Slots: 16, SlotsPerUser: 4, MaxQueued: 256, MaxQueuedPerUser: 64, FirstImmediately: true}
	// largeQueue is for processing a body of up to MaxRowsBody, or a response of that size:
	// 16 MiB each, several times that while they are processed.
	largeQueue = fair.Config{What: "large requests", Slots: 16, SlotsPerUser: 4, MaxQueued: 256, MaxQueuedPerUser: 64}
	// inferQueue is for requests that wait for a model, or preview rows.
	inferQueue = fair.Config{What: "questions about data", Slots: 32, SlotsPerUser: 4, MaxQueued: 256, MaxQueuedPerUser: 64}
	// downloadQueue is for downloads of datasets, and another for results of queries, which wait
	// for a query worker with their slots: each is a file on the disk until it is sent. Clients
	// that read slowly hold slots for long, so that nobody may wait for those of others: the
	// queues of the workers and the free disk limit all users.
	downloadQueue = fair.Config{What: "downloads", Slots: 16, SlotsPerUser: 4, MaxQueued: 256, MaxQueuedPerUser: 64, FirstImmediately: true}
	// loadQueue is for reads of large results from the database. Each takes a processor,
	// and one of the 8 connections of the embedded database: one user has one at a time.
	// None is refused.
	loadQueue = fair.Config{What: "large answers", Slots: 4, SlotsPerUser: 1}
)

// decodeQueue is for decoding bodies that are not small. That uses a processor of this process,
// where all goroutines share the processors equally: each step of a run would wait for every body.
// So one processor is left for other work, if there are several.
func decodeQueue() fair.Config {
	slots := max(1, runtime.GOMAXPROCS(0)-1)
	return fair.Config{What: "large JSON bodies", Slots: slots, SlotsPerUser: max(1, slots/2), MaxQueued: 256, MaxQueuedPerUser: 64}
}

const (
	queueTimeout = 20 * time.Second
	// largeReadTimeout is how long a large body may take to arrive once it has its slot.
	largeReadTimeout = time.Minute
)

// queued makes an operation wait for a slot when its body has been read, so that clients that
// send slowly hold none.
func (s *Server) queued(queue *fair.Queue, run operation) operation {
	return func(r *request) (any, error) {
		defer s.queueBody(r.Context, r.caller.Username)()
		release := func() {}
		defer func() { release() }()
		r.afterBody = func() error {
			slot, err := s.acquire(r.ctx(), queue, r.caller.Username)
			if err == nil {
				release = slot.Release
			}
			return err
		}
		return run(r)
	}
}

// acquire waits for a slot.
func (s *Server) acquire(ctx context.Context, queue *fair.Queue, user string) (*fair.Slot, error) {
	slot, err := queue.Acquire(user)
	if err == nil {
		err = slot.WaitTimeout(ctx, s.queueTimeout)
	}
	return slot, err
}

// queueBody makes a request wait for a slot when more than MaxBody of its body has been read.
// The agents release the slot when they have stored the attachments, and end does at the latest.
func (s *Server) queueBody(c *gin.Context, user string) (end func()) {
	body := &queuedBody{
		ReadCloser: c.Request.Body, left: s.cfg.MaxBody,
		acquire: func() (*fair.Slot, error) {
			slot, err := s.acquire(c.Request.Context(), s.bodies, user)
			// Not every connection supports it; then the server's own limit applies.
			_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(largeReadTimeout))
			return slot, err
		},
	}
	c.Request.Body = body
	c.Request = c.Request.WithContext(fair.WithRelease(c.Request.Context(), body.release))
	return body.release
}

// queuedBody is a body that needs a slot from some size on.
type queuedBody struct {
	io.ReadCloser
	// left is how much may be read before.
	left    int64
	acquire func() (*fair.Slot, error)

	mu       sync.Mutex
	slot     *fair.Slot
	released bool
}

func (b *queuedBody) Read(p []byte) (int, error) {
	if b.left <= 0 && b.acquire != nil {
		slot, err := b.acquire()
		if err != nil {
			return 0, err
		}
		b.acquire = nil
		b.hold(slot)
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// hold keeps a slot until release: gRPC reads bodies in another goroutine.
func (b *queuedBody) hold(slot *fair.Slot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slot = slot; b.released {
		slot.Release()
	}
}

func (b *queuedBody) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released = true; b.slot != nil {
		b.slot.Release()
	}
}

// reserve waits until the caller's large responses leave room for one of this size. A
// response that has started is not refused: it waits as long as its client.
func (s *Server) reserve(r *request, bytes int) (release func(), err error) {
	if r.Writer.Written() {
		slot := s.cfg.Reads.AcquireUnboundedN(r.caller.Username, bytes)
		return slot.Release, slot.Wait(r.ctx())
	}
	return s.reserveFor(r.ctx(), r.caller, bytes)
}

// reserveFor is reserve for a response that has not started.
func (s *Server) reserveFor(ctx context.Context, caller domain.Caller, bytes int) (release func(), err error) {
	slot, err := s.cfg.Reads.AcquireN(caller.Username, bytes)
	if err != nil {
		return nil, err
	}
	return slot.Release, slot.WaitTimeout(ctx, s.queueTimeout)
}

// readRun reads a run, before the response starts, and reserves memory for its result until
// release.
func (s *Server) readRun(ctx context.Context, caller domain.Caller, id string) (run domain.Run, release func(), err error) {
	bytes, err := s.cfg.Store.ResultBytes(ctx, caller, id)
	if err != nil {
		return run, nil, err
	}
	if release, err = s.reserveFor(ctx, caller, bytes); err != nil {
		return run, nil, err
	}
	if run, err = s.load(ctx, caller, id, bytes); err != nil {
		release()
	}
	return run, release, err
}

// load reads a run with a result of a known size, large ones one at a time for each user.
func (s *Server) load(ctx context.Context, caller domain.Caller, id string, bytes int) (domain.Run, error) {
	if bytes > domain.InlineResult {
		slot := s.loads.AcquireUnbounded(caller.Username)
		if err := slot.Wait(ctx); err != nil {
			return domain.Run{}, err
		}
		defer slot.Release()
	}
	return s.cfg.Store.Run(ctx, caller, id)
}

// QueueStats returns the counts of the queues of large bodies, large requests and inference.
func (s *Server) QueueStats() (bodies, large, infer fair.Stats) {
	return s.bodies.Stats(), s.large.Stats(), s.infer.Stats()
}
