// Package soak tests the observer for as long as one likes over real servers on which nothing is wrong and
// everything happens: clients of several libraries take, renew and release locks correctly, while servers
// restart, fail over and move slots, sessions move, connections are cut, and a watching process is stopped
// for a while.
//
// What the clients themselves noted is the truth. Checkers demand that no finding above info is false, that
// no event is wrong, that doctor, run again and again as from cron, stays silent unless something could
// really not be reached, and that at the end the picture is what the servers hold. A seed replays the
// schedule of faults:
//
//	make soak-look D=1h [SEED=7]
//
// A second test watches 1,000 locks in which clients come and go all the time while the servers of an
// ensemble restart one after another, and demands that the picture is the servers' at the end, and that no
// watch and no goroutine is left over:
//
//	make soak-restarts D=1h [SEED=7]
package soak
