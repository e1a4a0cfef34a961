// Package rush plays the morning rush of the demo's shop and measures it: at eight o'clock every client asks for open
// orders at once, and again every time the deadline has passed, while a large report runs. It is played on two fresh
// servers, one without gates and one with; everything else is the same.
package rush
