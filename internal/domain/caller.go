package domain

// Caller is the user who makes a request. Every operation on user data takes one, and
// shows and changes only what the caller may see and change.
type Caller struct {
	// Username is the user's name in its normal form.
	Username string
	// Restriction is the id of the restricted token of the request, "" for a token with all
	// rights of the user.
	Restriction string
	// Application is the id of the token of an application that acts for the user; "" for none. It
	// manages no tokens and shares.
	Application string
}

// Restricted reports whether the caller's token covers less than its user may.
func (c Caller) Restricted() bool { return c.Restriction != "" }

// Resolve returns the username that a name in a request means; Self is the caller.
func (c Caller) Resolve(name string) string {
	if name = NormalizeUsername(name); name == Self {
		return c.Username
	}
	return name
}
