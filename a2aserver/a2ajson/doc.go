// Package a2ajson has the events and tasks of A2A as JSON, as they are stored and sent, and
// reads what is stored. What a client may see of them is left to others.
package a2ajson
