package lockops

import "github.com/go-zookeeper/zk"

// Conn is the session's connection, for what is no locking: an operator's guarded look at other people's nodes. It
// belongs to the session: never close it.
func (s *ZKSession) Conn() *zk.Conn { return s.conn }
