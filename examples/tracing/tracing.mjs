/** OpenTelemetry as any Node.js program sets it up. The id generator is the one line that is for Millrace. */
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { SpanIds } from 'millrace/tracing';

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(
  new BasicTracerProvider({
    idGenerator: new SpanIds(),
    resource: resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME ?? 'shop' }),
    // To OTEL_EXPORTER_OTLP_ENDPOINT, http://localhost:4318 if that is not set.
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  }),
);
