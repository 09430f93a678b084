package domain

// Lease is the right of one holder to a job, for a time: see package jobs.
type Lease struct {
	Name string
	// Fence is greater for each later lease of the name.
	Fence int64
}
