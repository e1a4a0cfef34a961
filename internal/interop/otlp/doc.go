// Package otlp shows by its test that a third-party client obeys a refusal: the
// stock OTLP exporter, in front of an OTLP endpoint that a gate protects.
package otlp
