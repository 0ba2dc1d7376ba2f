// Package foreign tests that nothing is called wrong, advised against or taken for a lock in the data of
// programs that have nothing to do with locks, or that use the locks of libraries without a recipe of ours.
//
// Each program has two files in programs: a script that runs the real program, whose first lines name its
// packages and what in its data is a lock after all, and the data that it wrote. The test replays the data
// into a real server and looks at it as doctor and as the screen do; the programs themselves are not needed.
// To make the data again, with the packages of npm, Go or Debian that the script names:
//
//	LOCKSCOPE_REAL=installed go test ./inspect/foreign -run TestRecord -record bull.js
package foreign
