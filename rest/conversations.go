package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// deadlineEvery is after how many turns a reader gets more time.
const deadlineEvery = 8

type conversationJSON struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	CreatedAt int64  `json:"createdAt"`
	UpdatedAt int64  `json:"updatedAt"`
}

type conversationsJSON struct {
	Conversations []conversationJSON `json:"conversations"`
}

func (s *Server) getConversations(c *gin.Context, caller storage.Caller) error {
	in := storage.NamespaceRef{Owner: actingUser(c.Query("username"), caller), Name: c.Query("namespace")}
	p := &path{}
	if in.Owner != "" {
		p.check("username", storage.CheckUsername(in.Owner))
	}
	if in.Name != "" {
		p.check("namespace", storage.CheckName(in.Name))
	}
	if err := p.err(); err != nil {
		return err
	}
	conversations, err := s.Store.Conversations(c.Request.Context(), caller, in)
	if err != nil {
		return err
	}
	answer := conversationsJSON{Conversations: make([]conversationJSON, len(conversations))}
	for i, conversation := range conversations {
		answer.Conversations[i] = conversationJSON{
			ID:        conversation.ID,
			Title:     conversation.Title,
			CreatedAt: conversation.CreatedAt.UnixMilli(),
			UpdatedAt: conversation.UpdatedAt.UnixMilli(),
		}
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

// getConversation writes the turns as they are read, because all the rows of a
// long conversation need not fit in memory.
func (s *Server) getConversation(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "conversationId")
	if err != nil {
		return err
	}
	title, turns, err := s.Store.Conversation(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	c.Header("Content-Type", "application/json; charset=utf-8")
	text := fmt.Appendf(make([]byte, 0, 2<<10), `{"id":"%s","title":%s,"turns":[`, id, toJSON(title))
	sent := 0
	for turn, err := range turns {
		if err != nil {
			return err
		}
		text = appendTurn(text, turn)
		// A client that goes on reading is not cut off.
		if sent++; sent%deadlineEvery == 0 {
			_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(s.RequestTimeout))
		}
		if _, err := c.Writer.Write(text); err != nil {
			return fmt.Errorf("send turn: %w", err)
		}
		text = append(text[:0], ',')
	}
	_, err = c.Writer.WriteString("]}\n")
	return err
}

// appendTurn appends a turn as JSON. Its result is JSON already and goes out as
// it is kept.
func appendTurn(text []byte, turn storage.Turn) []byte {
	text = fmt.Appendf(text, `{"runId":"%s","question":%s,"status":"%s"`, turn.RunID, toJSON(turn.Question), turn.Status)
	if turn.Status == storage.RunCompleted && turn.Result != nil {
		text = append(text, `,"result":`...)
		text = append(text, turn.Result...)
	}
	return append(text, '}')
}

// toJSON gives a text as JSON.
func toJSON(text string) []byte {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can always be encoded
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n"))
}

// stopRuns ends what goes on in a conversation that is about to be deleted. A
// restricted token may not be the one to delete it: there, what goes on ends with
// the deletion.
func (s *Server) stopRuns(ctx context.Context, caller storage.Caller, id string) error {
	if caller.Restricted() {
		return nil
	}
	_, turns, err := s.Store.Conversation(ctx, caller, id)
	if err != nil {
		return err
	}
	for turn, err := range turns {
		if err == nil && !turn.Status.Final() {
			err = s.Agents.Stop(ctx, caller, turn.RunID)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (s *Server) deleteConversation(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "conversationId")
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	if err := s.stopRuns(ctx, caller, id); err != nil {
		return err
	}
	if err := s.Store.DeleteConversation(ctx, caller, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
