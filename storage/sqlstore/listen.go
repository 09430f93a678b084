package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/lib/pq"
)

const (
	listenRetry = 100 * time.Millisecond
	listenLimit = 10 * time.Second
	// listenPing is how often it is checked that the connection still is one.
	listenPing = 10 * time.Second
)

// Listen implements storage.Hosts. The embedded database has one process: there
// is nobody to hear from.
func (s *Store) Listen(ctx context.Context, changed func(runID string)) error {
	if s.dialect.notify == "" {
		<-ctx.Done()
		return nil
	}
	listener := pq.NewDialListener(listenDialer{}, s.url, listenRetry, listenLimit, nil)
	// Not waited for: a server that does not answer holds them up.
	defer func() {
		go func() {
			_ = listener.Close()
			for range listener.Notify { // so that its goroutine can end
			}
		}()
	}()
	listening := make(chan error, 1)
	go func() { listening <- listener.Listen(runsChannel) }()
	ping := time.NewTicker(listenPing)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-listening:
			if err != nil {
				return wrap("listen for changed runs", err)
			}
			changed("") // what happened before was not heard
		case <-ping.C:
			// It fails when the connection is gone, or nothing comes back; the
			// listener then makes another.
			go func() { _ = listener.Ping() }()
		case notification := <-listener.Notify:
			if notification == nil {
				changed("") // a new connection: something may have been missed
			} else {
				s.onNotify(notification.Extra, changed)
			}
		}
	}
}

// onNotify handles a notification of another process; its own are ignored.
func (s *Store) onNotify(message string, changed func(runID string)) {
	instance, ids, _ := strings.Cut(message, " ")
	if instance == s.instance {
		return
	}
	for id := range strings.SplitSeq(ids, " ") {
		changed(id) // "" when none is named
	}
}
