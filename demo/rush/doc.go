// Package rush plays the morning rush of the demo's shop and measures it. At eight o'clock all clients ask for open
// orders at once, and again every time the deadline has passed, while a large report runs. The rush is played on two
// new servers, one without gates and one with gates. Everything else is the same.
package rush
