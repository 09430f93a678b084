// Package a2aserver is the home of the A2A host: the catalog, the JSON-RPC
// methods and streams of the agents it is given, over the store. What an agent
// answers is the agent's.
package a2aserver
