// Package screen has what all screens share: their interface, actions, the Context through which
// they see the program, dialogs, and wording such as signs, filters, texts to copy and events.
package screen
