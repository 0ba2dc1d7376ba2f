// Package screen defines what all screens share: their interface, actions, dialogs, and the Context
// through which they see the program. It also has common wording, such as signs, filters, texts to
// copy and events.
package screen
