// Package events is the screen of the events since the program started to watch.
package events
