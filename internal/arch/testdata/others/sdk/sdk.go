package sdk // stands for go.opentelemetry.io/otel/sdk
