// Package widget draws text, columns, lists, forms and boxes, and handles typing in them. It knows
// nothing about locks, and expects text that is safe to print.
package widget
