// Package tui is the full-screen face of lockscope, a Bubble Tea program.
//
// Model is the program: it routes messages, draws the frame around the screen in front, and keeps the stack
// of dialogs. The screens are packages of their own, one line each in the list in screen.go; what a screen is
// says tui/screen. All of them look at one Context: the newest snapshot, the theme and the time that is
// drawn, which only Model changes. Nothing here does I/O except in commands, and what a server said is
// printed in its escaped form. Welcome is a program of its own, for who did not say where to look.
package tui
