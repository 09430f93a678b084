// Package safehttp makes HTTP requests to addresses that strangers choose, without letting
// them reach what only this machine or its network can reach (server-side request forgery).
//
// A URL is checked when it is given: [Policy.CheckURL]. What its name stands for can change
// later, so each connection resolves the name, refuses addresses that are not public, and
// dials one of the rest, not the name. There is no proxy, which would resolve the name
// again, and redirects are not followed.
package safehttp
