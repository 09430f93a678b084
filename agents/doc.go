// Package agents has what the agents share: reading a question, planning, querying and
// answering, as A2A events, and the projection of these events for readers of runs. Each
// agent has a folder. Access and delivery of events belong to a2aserver.
package agents
