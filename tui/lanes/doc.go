// Package lanes draws who waited for and held a lock when: a lane a contender, over a window of time.
package lanes
