package inspect

// interned holds one copy of each text, for contenders to share: a client has the same host and label in all its entries.
type interned map[Untrusted]Untrusted

// mostInterned bounds the copies that are remembered, about 1 MB; then it begins anew.
const mostInterned = 1 << 14

func (in interned) one(text Untrusted) Untrusted {
	if text == "" {
		return ""
	}
	if known, ok := in[text]; ok {
		return known
	}
	if len(in) == mostInterned {
		clear(in)
	}
	in[text] = text
	return text
}

// share has a lock's contenders share the texts of their owners.
func (in interned) share(l *Lock) {
	everyContender(l, func(c *Contender) { c.Owner.Label = in.one(c.Owner.Label) })
}
