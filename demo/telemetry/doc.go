// Package telemetry sets up OpenTelemetry for the demo, as a program does once at its start. Libraries, such as the
// interceptors, find the providers by themselves.
//
// Prometheus can always scrape the metrics. Nothing else is sent anywhere, unless the standard variables of
// OpenTelemetry say where to, for instance
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318
//	OTEL_TRACES_EXPORTER=console
package telemetry
