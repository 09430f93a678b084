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

type turnJSON struct {
	RunID    string            `json:"runId"`
	Question string            `json:"question"`
	Status   storage.RunStatus `json:"status"`
	Result   json.RawMessage   `json:"result,omitempty"`
}

func toTurn(r storage.Run) turnJSON {
	turn := turnJSON{RunID: r.ID, Question: r.Question, Status: r.Status}
	if r.Status == storage.RunCompleted {
		turn.Result = r.Result
	}
	return turn
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
	ctx := c.Request.Context()
	conversation, err := s.Store.Conversation(ctx, caller, id)
	if err != nil {
		return err
	}
	title, err := json.Marshal(conversation.Title)
	if err != nil {
		return fmt.Errorf("encode title: %w", err)
	}
	var body bytes.Buffer
	fmt.Fprintf(&body, `{"id":"%s","title":%s,"turns":[`, conversation.ID, title)
	first := true
	for run, err := range s.Store.Turns(ctx, caller, id) {
		if err != nil {
			return err
		}
		turn, err := json.Marshal(toTurn(run))
		if err != nil {
			return fmt.Errorf("encode turn: %w", err)
		}
		if !first {
			body.WriteByte(',')
		}
		first = false
		body.Write(turn)
		if body.Len() >= conversationBuffer {
			if err := send(c, &body); err != nil {
				return err
			}
		}
	}
	body.WriteString("]}\n")
	return send(c, &body)
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
