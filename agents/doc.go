// Package agents is the home of the agents that answer questions: each reads a
// question, plans, queries and answers, and says so in A2A events. This package
// has what they share, and what their events come to for readers of runs; each
// agent has a folder. Who may ask, and how events reach anyone, is a2aserver's.
package agents
