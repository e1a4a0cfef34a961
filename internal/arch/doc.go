// Package arch checks that the house stays as it was drawn: who may import whom, what a program that uses only one host
// links, how many modules it inherits, and a few limits on size and style that no linter at hand knows.
//
// The rules are plain functions over a [House]. The tests run them over this repository, and over the small broken
// house in testdata, in which every rule must find what was broken on purpose.
//
// A new package under gate/ or interceptor/ needs a wall: a row in walls.go. A package-level variable that has to change
// needs an excuse in vars.go.
package arch
