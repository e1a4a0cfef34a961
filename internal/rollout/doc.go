// Package rollout replaces servers under load, with real clients and servers on an
// in-memory network that takes time, and counts the calls that are lost.
package rollout
