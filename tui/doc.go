// Package tui is the full-screen face of lockscope, a Bubble Tea program.
//
// Model is the only tea.Model: it routes messages and draws the frame. What is in the frame is a screen (one file and
// one line in the list in screen.go): a plain struct with SetSize, Update and View that states its own keys as a list
// of actions, from which the footer and the help are made. All screens look at one world: the newest snapshot, the
// theme and the time that is drawn. Nothing here does I/O except in commands, and everything that a server said is
// printed in its escaped form.
package tui
