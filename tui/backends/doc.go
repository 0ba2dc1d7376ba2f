// Package backends is the screen of ZooKeeper servers and Redis masters: their health, how they
// are read, and the load that causes.
package backends
