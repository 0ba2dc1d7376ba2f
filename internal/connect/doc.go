// Package connect is the ground under everything that talks to a server: targets as people write them,
// secrets, TLS, options for go-redis, and the dialer that reads along on go-zookeeper's connections (tap.go)
// and sends requests of its own on them (taprequest.go), such as those that go-zookeeper does not know
// (multiread.go).
package connect
