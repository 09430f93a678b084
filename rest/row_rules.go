package rest

import (
	"slices"
	"strings"

	"parley/internal/domain"
)

// maxColumnName limits the characters of the name of a column or claim.
const maxColumnName = 256

type rowRuleJSON struct {
	Username  string `json:"username"`
	Condition string `json:"condition,omitempty"`
	Column    string `json:"column,omitempty"`
	Claim     string `json:"claim,omitempty"`
}

// ruleSetJSON says what a condition does now; a claim is another one for each user.
type ruleSetJSON struct {
	VisibleRows *int64 `json:"visibleRows,omitempty"`
	RowCount    *int64 `json:"rowCount,omitempty"`
}

func (s *Server) getRowRules(r *request, ref domain.DatasetRef) (any, error) {
	rules, err := s.cfg.Store.RowRules(r.ctx(), r.caller, ref)
	return toList(rules, func(rule domain.RowRule) rowRuleJSON { return rowRuleJSON(rule) }), err
}

func (s *Server) setRowRule(r *request, ref domain.DatasetRef) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	rule := domain.RowRule{Username: f.grantee("username")}
	if f.has("column") || f.has("claim") {
		rule.Column, rule.Claim = f.text("column", notEmpty(maxColumnName)), f.text("claim", notEmpty(maxColumnName))
		if f.has("condition") {
			f.check("condition", "must not be set beside a column and a claim")
		}
	} else {
		rule.Condition = f.text("condition", notEmpty(domain.MaxRowCondition))
	}
	if rule.Claim != "" && !slices.Contains(s.cfg.Auth.Claims(), rule.Claim) {
		f.check("claim", "must be one that the server records (--auth-claims): "+strings.Join(s.cfg.Auth.Claims(), ", "))
	}
	if r.err() == nil && rule.Username == ref.Owner {
		f.check("username", "must be another user: the owner sees all rows")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	visible, total, err := s.cfg.Datasets.SetRowRule(r.ctx(), r.caller, ref, rule)
	if err != nil || rule.Claim != "" {
		return ruleSetJSON{}, err
	}
	return ruleSetJSON{&visible, &total}, nil
}

func (s *Server) deleteRowRule(r *request, ref domain.DatasetRef) (any, error) {
	username := r.fields(s.cfg.MaxBody).grantee("username")
	if err := r.err(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Store.DeleteRowRule(r.ctx(), r.caller, ref, username)
}
