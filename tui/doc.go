// Package tui is the full-screen face of lockscope, a Bubble Tea program.
//
// Model is the program: it routes messages, draws the frame around the screen in front, and keeps
// the stack of dialogs. The screens are separate packages, one line each in the list in screen.go;
// tui/screen says what a screen is. All of them use one Context: the newest snapshot, the theme and
// the time that is drawn, which only Model changes. Only commands do I/O, and text from servers is
// printed in its escaped form. Welcome is a separate program, for users who gave no target.
package tui
