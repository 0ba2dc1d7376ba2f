// Package findings is the screen of what is wrong, with evidence and advice.
package findings
