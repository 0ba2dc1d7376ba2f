// Package soak tests the observer against real servers for as long as you like. Clients of several
// libraries use locks correctly, while servers restart, fail over and move slots, sessions move,
// connections break, and a watching process is paused.
//
// The clients' own records are the truth. No event and no finding above info may be wrong, and doctor
// may only complain about unreachable servers. In the end the observer must show what the servers
// hold. A seed replays the schedule of faults:
//
//	make soak-look D=1h [SEED=7]
//
// A second test breaks the observer's connections repeatedly, and checks that no watches or
// goroutines leak:
//
//	make soak-reconnects
package soak
