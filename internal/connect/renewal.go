package connect

import (
	"context"
	"strings"
	"sync/atomic"
)

// Renewal holds a target's current secrets. It is safe for concurrent use.
type Renewal struct {
	current atomic.Pointer[Secrets]
	refused func()
}

// NewRenewal returns a Renewal with the given secrets. refused is called when a server refuses
// them; it must not block.
func NewRenewal(present Secrets, refused func()) *Renewal {
	r := &Renewal{refused: refused}
	r.current.Store(&present)
	return r
}

// Set replaces the secrets for later logins, and reports whether they changed.
func (r *Renewal) Set(s Secrets) (changed bool) { return *r.current.Swap(&s) != s }

// Present returns the current secrets for a login.
func (t Target) Present() Secrets {
	if t.Renewal == nil {
		return t.Secrets
	}
	return *t.Renewal.current.Load()
}

// NewDigest returns a function that requests newer ZooKeeper credentials and returns the current
// ones; nil if they cannot change.
func (t Target) NewDigest() func() []byte {
	if t.Renewal == nil {
		return nil
	}
	return func() []byte {
		t.Renewal.refused()
		return t.Present().Login.Digest()
	}
}

// heed requests newer secrets if the first reply on a connection refuses the login.
func (r *Renewal) heed(first []byte) {
	if r != nil && (strings.HasPrefix(string(first), "-WRONGPASS") || strings.HasPrefix(string(first), "-NOAUTH")) {
		r.refused()
	}
}

// login is a Redis client's CredentialsProviderContext.
func (r *Renewal) login(context.Context) (username, password string, err error) {
	login := r.current.Load().Login
	return login.Username, string(login.Password), nil
}

// sentinelLogin is a Sentinel client's CredentialsProvider.
func (r *Renewal) sentinelLogin() (username, password string) {
	login := r.current.Load().Sentinel
	return login.Username, string(login.Password)
}
