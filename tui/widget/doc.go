// Package widget draws text, columns, lists, forms and boxes, and takes what is typed into them. It knows no
// lock: what it is given is safe to print.
package widget
