// Package connect is the basis of everything that talks to a server: targets as users write them,
// secrets, TLS, dialing, and options for go-redis. Package zkwire adds what go-zookeeper lacks.
package connect
