package conformance

import (
	"testing"
	"testing/synctest"
)

// Case is one row of the table: a promise that every host keeps.
type Case struct {
	// Name states the promise, in the form of a test name.
	Name string
	// Shapes are the ones it is checked with. Nil means all that the host has.
	Shapes []Shape
	// Run checks it. It runs in a bubble of its own.
	Run func(e *Env)
}

// Cases is the table.
func Cases() []Case {
	var all []Case
	for _, part := range [][]Case{
		admitCases(), probeCases(), keyCases(), refusalCases(), callerCases(), slowCases(), connectionCases(), handlerCases(), modeCases(), messageCases(), atOnceCases(), drainingCases(), nestedCases(), translatorCases(), otherCases(),
	} {
		all = append(all, part...)
	}
	return all
}

// Run checks every case of the table against h: a subtest for each case, and in it one
// for each shape.
func Run(t *testing.T, h Host) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if why := h.Lacks[c.Name]; why != "" {
				t.Skip(why)
			}
			shapes := c.Shapes
			if shapes == nil {
				shapes = Shapes()
			}
			ran := false
			for _, shape := range shapes {
				if !h.has(shape) {
					continue
				}
				ran = true
				t.Run(shape.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c.Run(&Env{T: t, Host: h, Shape: shape})
					})
				})
			}
			if !ran {
				t.Skip("the host does not serve these shapes")
			}
		})
	}
}
