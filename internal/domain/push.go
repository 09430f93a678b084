package domain

import "time"

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
// lasts: see package jobs.
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
