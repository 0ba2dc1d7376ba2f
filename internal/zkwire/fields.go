package zkwire

import (
	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/jute"
)

// Decoder reads a reply's fields one after the other.
type Decoder struct{ jute.Decoder }

// NewDecoder reads the body of a reply.
func NewDecoder(body []byte) *Decoder { return &Decoder{jute.Decoder{Rest: body}} }

// Stat reads a node's Stat.
func (d *Decoder) Stat() zk.Stat {
	return zk.Stat{
		Czxid: d.Long(), Mzxid: d.Long(), Ctime: d.Long(), Mtime: d.Long(), Version: d.Int(), Cversion: d.Int(),
		Aversion: d.Int(), EphemeralOwner: d.Long(), DataLength: d.Int(), NumChildren: d.Int(), Pzxid: d.Long(),
	}
}

// ACL reads an access list.
func (d *Decoder) ACL() []zk.ACL {
	n := d.Count(12)
	if d.Err != nil {
		return nil
	}
	acl := make([]zk.ACL, n)
	for i := range acl {
		acl[i] = zk.ACL{Perms: d.Int(), Scheme: d.String(), ID: d.String()}
	}
	return acl
}

// AppendACL adds an access list.
func AppendACL(b []byte, acl []zk.ACL) []byte {
	b = jute.AppendInt(b, int32(len(acl)))
	for _, a := range acl {
		b = jute.AppendString(jute.AppendString(jute.AppendInt(b, a.Perms), a.Scheme), a.ID)
	}
	return b
}
