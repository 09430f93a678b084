// Package push sends the events of runs to the addresses that their users gave: A2A's push
// notifications.
//
// It is an outbox over the event log. A config is a position in the events of its run, kept
// in the database; what follows the position is sent, one event after the other, and the
// position moves when the receiver has taken it. So every event is sent at least once and
// in order, whatever becomes of this process: one host at a time holds a config, and when
// that one dies another goes on from the position. A receiver that fails is tried again with
// growing pauses, and given up after a time.
//
// How a task looks is left to the caller, and what may be called to safehttp.
package push
