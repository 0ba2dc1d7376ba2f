// Package tui is the full-screen face of lockscope, a Bubble Tea program.
//
// Model is the program: it routes messages, draws the frame around the screen in front, and keeps
// the stack of dialogs. Each screen is a separate package with a line in screenList; tui/screen
// says what a screen is. All screens share one Context: the newest snapshot, the theme and the
// drawn time. Only Model changes it. Only commands do I/O, and text from servers is escaped before
// it is printed. Welcome is a separate program, for users who gave no target.
package tui
