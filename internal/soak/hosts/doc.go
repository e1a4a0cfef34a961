// Package hosts puts whole servers under stress: every host of the conformance table, over an in-memory network and in
// real time. Random calls of all shapes are cancelled at random moments, their handlers panic or end their goroutine, slow
// and huge bodies are sent and cut off, gates drain, reopen and change their limits. Meanwhile innocent calls share the
// connections and must all be answered.
package hosts
