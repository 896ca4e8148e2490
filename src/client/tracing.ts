/** `millrace/tracing`: for the file that sets up OpenTelemetry, which is loaded before everything else. */
export { SpanIds } from '../kit/index.ts';
