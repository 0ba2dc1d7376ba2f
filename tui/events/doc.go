// Package events is the screen of what happened while we looked.
package events
