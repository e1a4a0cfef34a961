// Package newer tests the kit with newer releases of its dependencies than it requires, as many of its users have them:
// all hosts keep their promises there, too. The tests that need such releases are here as well: those with otelconnect
// for Connect v2, and with the semantic conventions that otelgate names.
package newer
