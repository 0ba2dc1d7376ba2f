// Package screen has the parts of every screen: its interface, its actions, the Context that shows it the
// program, the dialogs that it opens, and the wording that several screens share: signs, filters, what can be
// copied, the events.
package screen
