// Package telemetry sets OpenTelemetry up for the demo, as a program does it once at its start: libraries, such as the
// interceptors, find the providers by themselves.
//
// Metrics can always be scraped by Prometheus. Beyond that nothing is sent anywhere unless the standard variables of
// OpenTelemetry say where to, for instance
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318
//	OTEL_TRACES_EXPORTER=console
package telemetry
