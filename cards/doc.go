// Package cards describes Parley's two agents to A2A clients: their agent
// cards as Go values, the exact JSON that is served for them, and their
// entries in the catalog.
//
// It knows where an agent is reached below a base URL and nothing about how:
// routing, caching, who may ask for an extended card and which examples fit a
// caller are left to the host.
package cards
