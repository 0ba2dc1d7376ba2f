// Package lab is the screen where locks are taken by hand, where contenders compete for locks made for that,
// and where a sandbox gets faults. What it needs for that it is given: a Driver and Faults.
package lab
