// Package campaign hunts the locks of lockops with faults, and checks what came of it.
//
// Worker processes (Worker) take, extend, re-enter, cancel and release locks at random and append a Record of
// each step to a file, with the time of CLOCK_MONOTONIC, which all processes of a machine share; a file
// survives its writer's SIGKILL. Meanwhile a nemesis breaks servers, networks and workers. A History is read
// from the files of one round; Check looks for what must not be in it:
//
//   - two who held a lock that one may hold, though neither was stopped and nobody had forced it
//   - a fenced store that took the write of an older token, or lost an acknowledged one
//   - tokens out of the order of the grants
//   - a history that no lock could have had (github.com/anishathalye/porcupine)
//   - goroutines, descriptors or watches that a clean end left behind
//
// TestSchedules does the same in one process: the ZooKeeper locks on an embedded ensemble, on a clock that
// jumps, where nothing has to be excused, since a hold has ended or has not when the next is granted. Each
// seed is a schedule of faults.
//
// Controls are campaigns that break what the locks rest on, and must be found out.
package campaign
