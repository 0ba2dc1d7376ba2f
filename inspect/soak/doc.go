// Package soak tests the observer for as long as one likes over real servers on which nothing is wrong and
// everything happens: clients of several libraries take, renew and release locks correctly, while servers
// restart, fail over and move slots, sessions move, connections are cut, and a watching process is stopped
// for a while.
//
// What the clients themselves noted is the truth. Checkers demand that no finding above info is false, that
// no event is wrong, that doctor, run repeatedly as from cron, stays silent unless something could
// really not be reached, and that at the end the picture is what the servers hold. A seed replays the
// schedule of faults:
//
//	make soak-look D=1h [SEED=7]
//
// A second test breaks the observer's connections repeatedly, and demands that no watch and no goroutine
// is left over:
//
//	make soak-reconnects
package soak
