package inspect

import "strings"

// Subject of a finding within its lock or backend, which distinguishes it from others of its rule. The zero
// value is the lock or backend as a whole.
type Subject struct {
	// Contender by its name on the server, and Digest where that is cut. See [Contender].
	Contender Untrusted `json:"contender,omitzero"`
	Digest    string    `json:"value_digest,omitzero"`
	// Server is a master or server, by its address.
	Server Untrusted `json:"server,omitzero"`
	// Node is the path of a znode.
	Node Untrusted `json:"node,omitzero"`
	// Locks of a finding that is about several: each of them has it.
	Locks []ID `json:"locks,omitzero"`
	// Unseen are the aspects that a blind finding speaks of.
	Unseen []Aspect `json:"unseen,omitzero"`
	// Reason tells apart what one rule finds for several, such as a [WriteRefusal]: another reason is another finding.
	Reason string `json:"reason,omitzero"`
}

// Subject is a contender as what a finding is about.
func (c *Contender) Subject() Subject { return Subject{Contender: c.Name, Digest: c.Digest} }

// Is reports whether the finding is about a contender.
func (s *Subject) Is(c *Contender) bool {
	return s.Contender != "" && s.Contender == c.Name && s.Digest == c.Digest
}

// Key distinguishes a finding from the others on the same lock or backend. It leaves out the locks
// of a deadlock, each of which has the finding once.
func (f *Finding) Key() string {
	s := &f.Subject
	var b strings.Builder
	for _, part := range [...]string{f.Rule, s.Contender.Raw(), s.Digest, s.Server.Raw(), s.Node.Raw()} {
		b.WriteString(part)
		b.WriteByte(0)
	}
	for _, a := range s.Unseen {
		b.WriteString(string(a))
		b.WriteByte(0)
	}
	b.WriteString(s.Reason)
	return b.String()
}
