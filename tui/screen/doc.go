// Package screen is what a screen of the program is: its interface, its actions, the Context that it sees the program by,
// the dialogs that it opens, and what several screens say in the same way: signs, filters, what can be copied, the events.
package screen
