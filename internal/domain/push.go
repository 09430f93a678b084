package domain

import (
	"context"
	"time"
)

// MaxPushConfigs is how many push configs a run may have.
const MaxPushConfigs = 10

// MaxUserPushConfigs is how many push configs a user may have that have not ended: events of
// their runs may follow, or are still to be sent.
const MaxUserPushConfigs = 1000

// PushConfig says where the events of a run are sent as they happen.
type PushConfig struct {
	RunID string
	// ID identifies the config among those of its run.
	ID  string
	URL string
	// Receiver is the host of the URL, in lower case.
	Receiver string
	// Scheme is how the credentials are presented, such as Bearer; "" without credentials.
	Scheme string
	// Secrets are the token and the credentials, encrypted; nil for none.
	Secrets []byte
	// Modes are the media types that the receiver accepts, separated by commas; "" for all.
	Modes string
	// Version is that of the protocol, when it is not the current one.
	Version string
}

// PushFromTask is the position of a config whose first event is the task as it is.
const PushFromTask int64 = -1

// Push is a config whose events a host sends. No other host does while the holder's lease
// lasts: see jobs.Hosts.
type Push struct {
	PushConfig
	// Caller is whose rights the events are read with.
	Caller Caller
	// Position is the number of the last event that was received, or PushFromTask.
	Position int64
	// Failures counts the tries in a row that failed, and Failing is the time since the
	// first of them.
	Failures int
	Failing  time.Duration
}

// Key identifies the config among those of all runs.
func (c PushConfig) Key() string { return c.RunID + "/" + c.ID }

// DuePush is a config with events to send that no host holds.
type DuePush struct {
	RunID, ID       string
	Owner, Receiver string
	// Holder is the host that held it, and is dead; "" for none.
	Holder string
}

// Key is that of the config.
func (d DuePush) Key() string { return d.RunID + "/" + d.ID }

// PushResult is the result of a Push.
type PushResult struct {
	Position int64
	// Failed says that the next event was not received.
	Failed bool
	// Pause is how long nothing is tried.
	Pause time.Duration
	// Ended says that nothing is sent any more.
	Ended bool
}

// PushConfigs has the push configs of runs. A config goes with its run, and with the
// restricted token that it was made with. Those of a run that is not the caller's are
// ErrNotFound; a read-only token changes those of runs that were asked with it, and is
// ErrForbidden for others.
type PushConfigs interface {
	// SavePushConfig makes a config, from the task on, or replaces the one with its id,
	// which continues at its position. ErrInvalid when the run has too many, ErrTooMany when
	// the user has.
	SavePushConfig(ctx context.Context, caller Caller, config PushConfig) error
	// PushConfigs lists those of a run, the oldest first.
	PushConfigs(ctx context.Context, caller Caller, runID string) ([]PushConfig, error)
	// DeletePushConfig deletes a config, if there is one.
	DeletePushConfig(ctx context.Context, caller Caller, runID, id string) error
}

// PushOutbox says what is to be sent, and by whom. What is sent is in the log: a config
// has a position in it.
type PushOutbox interface {
	// OpenPushes reports whether any config may have something to send, now or later.
	OpenPushes(ctx context.Context) (bool, error)
	// DuePushes lists configs that a host could send, of some runs or, with none, of all; at
	// most limit. They alternate between owners and receivers, so that none hides another.
	DuePushes(ctx context.Context, holder string, runIDs []string, limit int) ([]DuePush, error)
	// ClaimPushes makes a host the holder of configs, without those that another host was
	// faster to claim.
	ClaimPushes(ctx context.Context, holder string, due []DuePush) ([]Push, error)
	// AdvancePush says that a holder's events up to a position were received. ErrConflict
	// when the config is not the holder's any more.
	AdvancePush(ctx context.Context, holder string, push Push, position int64) error
	// ReleasePush records the result, and releases it. ErrConflict as above.
	ReleasePush(ctx context.Context, holder string, push Push, result PushResult) error
}
