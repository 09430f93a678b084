package a2aserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash/maphash"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/internal/domain"
)

// A message that a client sends again, since it got no answer, gives the same task. The
// log knows the messages that made runs; those that answered a question are in the
// history of their task.

// sentMessage identifies the message of a request. How the client wants its answer does
// not count.
func sentMessage(request *a2a.SendMessageRequest) (domain.SentMessage, error) {
	text, err := a2ajson.AppendRequest(nil, request)
	// Ids that count up stay as they are: their index then grows at its end.
	key := request.Message.ID
	if domain.CheckText(key, maxMessageKey) != "" {
		key = hash([]byte(key))
	}
	return domain.SentMessage{Key: key, Digest: hash(text)}, err
}

// maxMessageKey is the longest id of a message that is stored as it is, in characters.
const maxMessageKey = 64

// checkSent returns ErrMessageSent for a message that has made a run.
func (s *agentService) checkSent(ctx context.Context, question domain.Question) error {
	_, _, err := s.host.cfg.Log.SentRun(ctx, question.Caller, s.agent.Name, question.Message.Key)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	return cmp.Or(err, domain.ErrMessageSent)
}

// recentMessages remembers the last messages of a host, so that hardly any is executed twice until
// the log refuses it. It has hashes, and may know one that was never sent.
type recentMessages struct {
	mu sync.Mutex
	// last are the messages since it was last full, before are those until then.
	last, before map[uint64]struct{}
}

const maxRecent = 4096

var recentSeed = maphash.MakeSeed()

// add adds a message, and reports whether it was there.
func (r *recentMessages) add(user, agent, key string) bool {
	hash := maphash.Comparable(recentSeed, [3]string{user, agent, key})
	r.mu.Lock()
	defer r.mu.Unlock()
	_, inLast := r.last[hash]
	_, inBefore := r.before[hash]
	if len(r.last) == maxRecent || r.last == nil {
		r.last, r.before = make(map[uint64]struct{}, maxRecent), r.last
	}
	r.last[hash] = struct{}{}
	return inLast || inBefore
}

// hash returns the first half of a SHA-256.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:sha256.Size/2])
}

// repeatedError says that a message is in the history of a task.
type repeatedError struct{ runID string }

func (*repeatedError) Error() string { return domain.ErrMessageSent.Error() }

var errOtherBody = invalidField("message.messageId", "was used for another message; each message needs its own id")

// checkRepeated returns a repeatedError for a message that a task has received before.
func checkRepeated(task *a2a.Task, message *a2a.Message) error {
	for _, received := range task.History {
		if received.ID != message.ID || received.Role != a2a.MessageRoleUser {
			continue
		}
		again := *message
		again.TaskID, again.ContextID = received.TaskID, received.ContextID
		one, err := a2ajson.AppendMessage(nil, received)
		if err != nil {
			return err
		}
		other, err := a2ajson.AppendMessage(nil, &again)
		if err != nil {
			return err
		}
		if !bytes.Equal(one, other) {
			return errOtherBody
		}
		return &repeatedError{runID: string(task.ID)}
	}
	return nil
}

// repeated returns the task of a message that was sent before. cause is why the message made
// no run now, and the error when it is new.
func (s *agentService) repeated(ctx context.Context, request *a2a.SendMessageRequest, cause error) (domain.Task, error) {
	who, err := caller(ctx)
	if err != nil {
		return domain.Task{}, cause
	}
	if received, ok := errors.AsType[*repeatedError](cause); ok {
		return s.storedTask(ctx, who, a2a.TaskID(received.runID), false)
	}
	switch {
	case errors.Is(cause, domain.ErrMessageSent), errors.Is(cause, domain.ErrTooMany):
	case (errors.Is(cause, domain.ErrInvalid) || errors.Is(cause, a2a.ErrInvalidParams)) && checkSend(request) == nil:
		// What it needs may be gone since: its namespace, or its model.
	default:
		return domain.Task{}, cause
	}
	message, err := sentMessage(request)
	if err != nil {
		return domain.Task{}, err
	}
	runID, digest, err := s.host.cfg.Log.SentRun(ctx, who, s.agent.Name, message.Key)
	switch {
	case err == nil && digest == message.Digest:
		return s.storedTask(ctx, who, a2a.TaskID(runID), false)
	case err != nil && !errors.Is(err, domain.ErrNotFound):
		return domain.Task{}, err
	case !errors.Is(cause, domain.ErrMessageSent):
		return domain.Task{}, cause
	}
	// Another body, or one that was sent with a token that covers something else.
	return domain.Task{}, errOtherBody
}
