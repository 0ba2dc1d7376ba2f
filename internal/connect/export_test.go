package connect

import "net"

// What the external tests, which may use zkwire, need of the package's own.
var (
	Listen      = listen
	PlainDialer = plainDialer
)

const RedisPassword = redisPassword

// Waited reports whether the process behind a connection was waited for.
func Waited(c net.Conn) bool { return c.(*viaConn).cmd.ProcessState != nil }
