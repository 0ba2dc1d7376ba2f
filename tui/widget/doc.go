// Package widget draws text, columns, lists, forms and boxes, and handles typing in them. It knows
// nothing about locks, and expects printable text.
package widget
