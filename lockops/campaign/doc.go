// Package campaign tests the locks of lockops under faults, and checks the resulting histories.
//
// Worker processes (Worker) take, extend, re-enter, cancel and release locks at random, and append
// a Record of each step to a file. Its time is CLOCK_MONOTONIC, which all processes of a machine
// share. A file survives its writer's SIGKILL. Meanwhile a nemesis breaks servers, networks and
// workers. A History is read from the files of one round, and Check reports each of these:
//
//   - two simultaneous holders of an exclusive lock, neither of them stopped or forced out
//   - a fenced store that accepted a write with an older token, or lost an acknowledged one
//   - tokens that do not grow from grant to grant
//   - a history that no lock could have had (github.com/anishathalye/porcupine)
//   - goroutines, descriptors or watches that a clean end left behind
//
// TestSchedules does the same in one process: the ZooKeeper locks on an embedded ensemble, with a
// clock that jumps. It needs no exceptions, since at each grant the previous hold either has ended or
// has not. Each seed is a schedule of faults.
//
// Controls are campaigns that break the locks' own assumptions; a check must detect each of them.
package campaign
