// Package connect is the ground under everything that talks to a server: targets as people write them, secrets, TLS,
// dialing, and options for go-redis. Package zkwire adds what go-zookeeper lacks.
package connect
