package rest

import (
	"errors"
	"fmt"

	"parley/internal/domain"
	"parley/internal/jsontext"
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

func toConversation(c domain.Conversation) conversationJSON {
	return conversationJSON{ID: c.ID, Title: c.Title, CreatedAt: c.CreatedAt.UnixMilli(), UpdatedAt: c.UpdatedAt.UnixMilli()}
}

func (s *Server) getConversations(r *request) (any, error) {
	in := domain.NamespaceRef{Owner: r.caller.Resolve(r.Query("username")), Name: r.Query("namespace")}
	if in.Owner != "" {
		r.check("username", domain.CheckUsername(in.Owner))
	}
	if in.Name != "" {
		r.check("namespace", domain.CheckName(in.Name))
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	conversations, err := s.cfg.Store.Conversations(r.ctx(), r.caller, in)
	return conversationsJSON{Conversations: toList(conversations, toConversation)}, err
}

// getConversation writes the turns as they are read, since a long conversation may not fit
// in memory.
func (s *Server) getConversation(r *request) error {
	id, page := pathID("conversationId")(r), r.turnPage()
	if err := r.err(); err != nil {
		return err
	}
	title, turns, err := s.cfg.Store.Conversation(r.ctx(), r.caller, id, page)
	if err != nil {
		return err
	}
	defer s.extendDeadlines(r.Context)()
	r.Header("Content-Type", "application/json; charset=utf-8")
	text := fmt.Appendf(make([]byte, 0, 2<<10), `{"id":"%s","title":%s,"turns":[`, id, quote(title))
	for turn, err := range turns {
		if err == nil {
			err = s.sendTurn(r, text, turn)
		}
		if errors.Is(err, errRunDeleted) {
			continue
		}
		if err != nil {
			return err
		}
		text = append(text[:0], ',')
	}
	if r.Writer.Written() {
		text = nil
	}
	return send(r, text, []byte("]}\n"))
}

// errRunDeleted says that a run was deleted while its conversation was being read.
var errRunDeleted = errors.New("the run is gone")

// sendTurn writes a turn. A large result is read at this point, once memory is reserved for
// it, and written unchanged.
func (s *Server) sendTurn(r *request, text []byte, turn domain.Run) error {
	text = fmt.Appendf(text, `{"runId":"%s","question":%s,"status":"%s"`, turn.ID, quote(turn.Question), turn.Status)
	switch {
	case !turn.Status.Final():
		return s.sendRunningTurn(r, text, turn)
	case turn.Status != domain.RunCompleted || turn.ResultBytes == 0:
		return send(r, append(text, '}'))
	case turn.ResultBytes <= domain.InlineResult:
		text = append(text, `,"result":`...)
		return send(r, append(append(text, turn.Result...), '}'))
	}
	release, err := s.reserve(r, turn.ResultBytes)
	if err != nil {
		return err
	}
	defer release()
	run, err := s.load(r.ctx(), r.caller, turn.ID, turn.ResultBytes)
	if errors.Is(err, domain.ErrNotFound) {
		return errRunDeleted
	}
	if err != nil {
		return err
	}
	return send(r, append(text, `,"result":`...), run.Result, []byte{'}'})
}

// sendRunningTurn writes the rest of a turn whose run is open, with what it asks the user.
func (s *Server) sendRunningTurn(r *request, text []byte, turn domain.Run) error {
	input, err := s.input(r, turn)
	if errors.Is(err, domain.ErrNotFound) {
		return errRunDeleted
	}
	if err != nil {
		return err
	}
	if input != nil {
		encoded, err := jsontext.Marshal(input)
		if err != nil {
			return fmt.Errorf("write what a run asks: %w", err)
		}
		text = append(append(text, `,"inputRequired":`...), encoded...)
	}
	return send(r, append(text, '}'))
}

func send(r *request, pieces ...[]byte) error {
	for _, piece := range pieces {
		if _, err := r.Writer.Write(piece); err != nil {
			return fmt.Errorf("send conversation: %w", err)
		}
	}
	return nil
}

// maxTurns is the largest page of turns.
const maxTurns = 100

// turnPage reads the page parameters; the default is all turns.
func (r *request) turnPage() (page domain.TurnPage) {
	if text, ok := r.GetQuery("limit"); ok {
		page.Limit = r.pageSize("limit", text, maxTurns)
	}
	if text, ok := r.GetQuery("before"); ok {
		if page.Before, ok = parseID(text); !ok {
			r.check("before", "must be the runId of a turn")
		}
	}
	return page
}

// quote encodes a text as JSON.
func quote(text string) []byte {
	encoded, _ := jsontext.Marshal(text) // a string can always be encoded
	return encoded
}

func (s *Server) renameConversation(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	id := r.fieldID("conversationId")
	title := f.text("title", domain.CheckTitle)
	if err := r.err(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Store.RenameConversation(r.ctx(), r.caller, id, domain.Title(title))
}

func (s *Server) deleteConversation(r *request, id string) (any, error) {
	if err := s.stopRuns(r, id); err != nil {
		return nil, err
	}
	return nil, s.cfg.Store.DeleteConversation(r.ctx(), r.caller, id)
}

// stopRuns cancels the open runs of a conversation before it is deleted. A restricted token
// may not be allowed to delete it: then the runs end with the deletion.
func (s *Server) stopRuns(r *request, id string) error {
	if r.caller.Restricted() {
		return nil
	}
	_, turns, err := s.cfg.Store.Conversation(r.ctx(), r.caller, id, domain.TurnPage{})
	if err != nil {
		return err
	}
	for turn, err := range turns {
		if err == nil && !turn.Status.Final() {
			err = s.cfg.Agents.Stop(r.ctx(), r.caller, turn.ID)
		}
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
	}
	return nil
}
