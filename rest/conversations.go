package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// conversationBuffer is how much of a conversation is gathered before it is
// sent on.
const conversationBuffer = 256 << 10

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
	conversation, turns, err := s.Store.Conversation(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	fmt.Fprintf(&body, `{"id":"%s","title":%s,"turns":[`, conversation.ID, toJSON(conversation.Title))
	first := true
	for run, err := range turns {
		if err != nil {
			return err
		}
		if !first {
			body.WriteByte(',')
		}
		first = false
		writeTurn(&body, run)
		if body.Len() >= conversationBuffer {
			if err := send(c, &body); err != nil {
				return err
			}
		}
	}
	body.WriteString("]}\n")
	return send(c, &body)
}

// writeTurn writes a turn. Its result is JSON already, and goes out as it is
// kept.
func writeTurn(body *bytes.Buffer, run storage.Run) {
	fmt.Fprintf(body, `{"runId":"%s","question":%s,"status":"%s"`, run.ID, toJSON(run.Question), run.Status)
	if run.Status == storage.RunCompleted && run.Result != nil {
		body.WriteString(`,"result":`)
		body.Write(run.Result)
	}
	body.WriteByte('}')
}

// toJSON gives a text as JSON.
func toJSON(text string) []byte {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can always be encoded
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n"))
}

// send writes what a JSON answer has come to so far.
func send(c *gin.Context, body *bytes.Buffer) error {
	c.Header("Content-Type", "application/json; charset=utf-8")
	if _, err := body.WriteTo(c.Writer); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

func (s *Server) deleteConversation(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "conversationId")
	if err != nil {
		return err
	}
	if err := s.Store.DeleteConversation(c.Request.Context(), caller, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
