// Package cards describes Parley's two agents to A2A clients: their agent cards as Go
// values and as the exact JSON that is served, their signatures, and their entries in the
// catalogs. Routing, caching, access to extended cards and their examples are left to the
// host; fetching cards and keys to verify them, to the command line.
package cards
