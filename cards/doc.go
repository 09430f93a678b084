// Package cards describes Parley's two agents to A2A clients: their agent cards as Go
// values and as the exact JSON that is served, and their entries in the catalog. Routing,
// caching, access to extended cards and their examples are left to the host.
package cards
