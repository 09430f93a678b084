package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"parley/storage"
)

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
	conversations, err := s.cfg.Store.Conversations(c.Request.Context(), caller, in)
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

// getConversation writes the turns as they are read, since a long conversation may not fit
// in memory.
func (s *Server) getConversation(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "conversationId")
	if err != nil {
		return err
	}
	page, err := readTurnPage(c)
	if err != nil {
		return err
	}
	title, turns, err := s.cfg.Store.Conversation(c.Request.Context(), caller, id, page)
	if err != nil {
		return err
	}
	defer s.extendDeadlines(c)()
	c.Header("Content-Type", "application/json; charset=utf-8")
	text := fmt.Appendf(make([]byte, 0, 2<<10), `{"id":"%s","title":%s,"turns":[`, id, toJSON(title))
	for turn, err := range turns {
		if err == nil {
			err = s.sendTurn(c, caller, text, turn)
		}
		if errors.Is(err, errRunDeleted) {
			continue
		}
		if err != nil {
			return err
		}
		text = append(text[:0], ',')
	}
	if !c.Writer.Written() { // no turns on this page
		if _, err := c.Writer.Write(text); err != nil {
			return fmt.Errorf("send conversation: %w", err)
		}
	}
	_, err = c.Writer.WriteString("]}\n")
	return err
}

// errRunDeleted says that a run was deleted while its conversation was being read.
var errRunDeleted = errors.New("the run is gone")

// sendTurn writes a turn. A large result is read at this point, once memory is reserved for
// it, and written unchanged.
func (s *Server) sendTurn(c *gin.Context, caller storage.Caller, text []byte, turn storage.Turn) error {
	text = fmt.Appendf(text, `{"runId":"%s","question":%s,"status":"%s"`, turn.RunID, toJSON(turn.Question), turn.Status)
	switch {
	case turn.Status != storage.RunCompleted || turn.ResultBytes == 0:
		return sendPieces(c, append(text, '}'))
	case turn.ResultBytes <= storage.InlineResult:
		text = append(text, `,"result":`...)
		return sendPieces(c, append(append(text, turn.Result...), '}'))
	}
	release, err := s.reserve(c, caller, turn.ResultBytes)
	if err != nil {
		return err
	}
	defer release()
	run, err := s.load(c, caller, turn.RunID, turn.ResultBytes)
	if errors.Is(err, storage.ErrNotFound) {
		return errRunDeleted
	}
	if err != nil {
		return err
	}
	return sendPieces(c, append(text, `,"result":`...), run.Result, []byte{'}'})
}

func sendPieces(c *gin.Context, pieces ...[]byte) error {
	for _, piece := range pieces {
		if _, err := c.Writer.Write(piece); err != nil {
			return fmt.Errorf("send turn: %w", err)
		}
	}
	return nil
}

// maxTurns is the largest page of turns.
const maxTurns = 100

// readTurnPage reads the page parameters; the default is all turns.
func readTurnPage(c *gin.Context) (page storage.TurnPage, err error) {
	p := &path{Context: c}
	if text, ok := c.GetQuery("limit"); ok {
		if page.Limit, err = strconv.Atoi(text); err != nil || page.Limit < 1 || page.Limit > maxTurns {
			p.check("limit", fmt.Sprintf("must be 1 to %d", maxTurns))
		}
	}
	if text, ok := c.GetQuery("before"); ok {
		id, err := uuid.Parse(text)
		if err != nil || len(text) != len(id.String()) {
			p.check("before", "must be the runId of a turn")
		}
		page.Before = id.String()
	}
	return page, p.err()
}

// toJSON encodes a text.
func toJSON(text string) []byte {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can always be encoded
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n"))
}

// stopRuns cancels the open runs of a conversation before it is deleted. A restricted token
// may not be allowed to delete it: then the runs end with the deletion.
func (s *Server) stopRuns(ctx context.Context, caller storage.Caller, id string) error {
	if caller.Restricted() {
		return nil
	}
	_, turns, err := s.cfg.Store.Conversation(ctx, caller, id, storage.TurnPage{})
	if err != nil {
		return err
	}
	for turn, err := range turns {
		if err == nil && !turn.Status.Final() {
			err = s.cfg.Agents.Stop(ctx, caller, turn.RunID)
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
	if err := s.cfg.Store.DeleteConversation(ctx, caller, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
