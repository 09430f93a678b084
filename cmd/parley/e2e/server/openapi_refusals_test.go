package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// ofAuthorization are not found where there is an identity provider.
var ofAuthorization = []string{"getServerMetadata", "registerApplication", "showConsent", "decideConsent", "exchangeCode", "revokeApplication", "getResourceMetadata", "getMCPResourceMetadata"}

// refusals sends every operation in the ways in which all can be refused.
func (d *described) refusals() {
	for _, id := range d.order {
		if d.describes(id, http.StatusUnauthorized) == d.isPublic(id) {
			d.t.Errorf("%s: is it public?", id)
		}
		if d.describes(id, http.StatusUnauthorized) {
			d.call("- " + id + " 401")
		}
		if d.describes(id, http.StatusBadRequest) {
			d.call("alice "+id+" 400", query("%zz"))
		}
		d.refusedBodies(id)
		if d.describes(id, http.StatusNotFound) && !slices.Contains(ofAuthorization, id) {
			d.refusedThings(id)
		}
		if d.describes(id, http.StatusUnprocessableEntity) {
			d.refusedNames(id)
		}
	}
}

func (d *described) isPublic(id string) bool {
	security, ok := d.operations[id].at("security").value.([]any)
	return ok && len(security) == 0
}

func (d *described) refusedBodies(id string) {
	content := d.operations[id].at("requestBody", "content").keys()
	if d.describes(id, http.StatusUnsupportedMediaType) {
		d.call("alice "+id+" 415", sent("application/xml", "<a/>"))
	}
	if d.describes(id, http.StatusRequestEntityTooLarge) {
		// Bodies with attachments may be larger than others: base64 takes a third more.
		d.call("alice "+id+" 413", sent(content[0], strings.Repeat(" ", 4*maxBody)))
	}
	if id != "callAgent" && id != "callLegacyAgent" && id != "registerApplication" && slices.Equal(content, []string{"application/json"}) {
		d.call("alice "+id+" 400", sent(content[0], "{"))
		d.call("alice "+id+" 422", sent(content[0], "[]"))
	}
}

// refusedThings aims at what is not there, as somebody who may see nothing.
func (d *described) refusedThings(id string) {
	changes := []change{param("user", "alice"), param("agent", "nobody")}
	for _, name := range []string{"sessionId", "fileId", "ingestionId", "runId", "conversationId", "tokenId"} {
		changes = append(changes, param(name, uuid.NewString()))
	}
	if id == "sendPart" {
		return // its address would not be right
	}
	if id == "postQuery" || id == "ask" || id == "askAndWait" {
		changes = append(changes, set(e2etest.Object{"username": "alice"}))
	}
	d.call("carol "+id+" 404", changes...)
}

// refusedNames has names that cannot be, where there is no body to be wrong.
func (d *described) refusedNames(id string) {
	if slices.ContainsFunc(d.operations[id].parameters, func(p node) bool { name, _ := p.member("name"); return name == "namespace" || name == "user" }) {
		d.call("alice "+id+" 422", param("namespace", "not a name"), param("user", "a b"), query("namespace=not%20a%20name"))
	}
}
