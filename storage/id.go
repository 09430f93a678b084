package storage

import "github.com/google/uuid"

// NewID gives the id of something new. Ids count up with the time, so that what is
// found by id is found in the order in which it was made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
