// Package foreign tests lockscope on the data of programs that use no locks, or libraries without a
// recipe of ours. It must report no locks but the real ones, no findings and no advice.
//
// Each program has two files in programs: a script that runs the real program, and the data that it
// wrote. The script's first lines name its packages and its actual locks. The test replays the data
// into a real server and reads it as doctor and the screen do. To record it again, with the npm, Go
// or Debian packages that the script names:
//
//	LOCKSCOPE_REAL=installed go test ./inspect/foreign -run TestRecord -record bull.js
package foreign
