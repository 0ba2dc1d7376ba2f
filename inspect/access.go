package inspect

import (
	"slices"
	"strings"
)

// Access is the access list of a contender's znode. Its creator sets the list. Most lists name the
// creator's own account (CREATOR_ALL_ACL) or everyone, so they do not prove who created it.
type Access struct {
	Entries []AccessEntry `json:"entries"`
	// Unknown is the reason why the list could not be read; empty if it was read.
	Unknown Untrusted `json:"unknown,omitempty"`
}

// AccessEntry is one identity of a list, and its rights.
type AccessEntry struct {
	// Scheme is digest, x509, sasl, ip, world, or a server's own.
	Scheme Untrusted `json:"scheme"`
	// ID is, by the scheme, a user without the hash of the password, a certificate's subject, a principal, an
	// address; anyone.
	ID Untrusted `json:"id"`
	// Rights are letters: c create, d delete, r read, w write, a admin.
	Rights string `json:"rights"`
}

// String puts a list into words: "digest worker-a (cdrwa), ip 10.0.0.0/8 (r)".
func (a *Access) String() string {
	if a.Unknown != "" {
		return "unknown: " + a.Unknown.String()
	}
	words := make([]string, len(a.Entries))
	for i, e := range a.Entries {
		words[i] = e.Scheme.String() + " " + e.ID.String()
		if e.anyone() {
			words[i] = "anyone"
		}
		words[i] += " (" + e.Rights + ")"
	}
	return strings.Join(words, ", ")
}

func (e AccessEntry) anyone() bool { return e.Scheme == "world" && e.ID == "anyone" }

// Tells reports whether a list names a particular account or could not be read. A list open to all
// is as good as none.
func (a *Access) Tells() bool {
	return a != nil && (a.Unknown != "" || slices.ContainsFunc(a.Entries, func(e AccessEntry) bool { return !e.anyone() }))
}

// AccessTo is the access list of a contender's znode; nil where it was not asked for.
func (l *Lock) AccessTo(c *Contender) *Access { return l.Access[c.Name] }
