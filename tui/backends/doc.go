// Package backends is the screen of the servers and masters: how they are, how they are read, and what that costs them.
package backends
