/**
 * Small parts that every room may need and that know nothing of jobs or queries: a clock to inject, sleep, backoff
 * and deadline on that clock, a deferred promise, start and stop, child processes, bounded work on a list. Domain
 * words do not live here, and neither do errors with codes: those belong to the core.
 */

export { Backoff, type BackoffRange, backoffMs } from './backoff.ts';
export { ByteBudget, type ByteShare, budgetFor, requestBytes } from './byte-budget.ts';
export { type Clock, systemClock } from './clock.ts';
export { compileEarly } from './compile-early.ts';
export { withDeadline } from './deadline.ts';
export { defined } from './defined.ts';
export { type Deferred, deferred } from './deferred.ts';
export { editorPlace, parseDocumentText, pointerKeys, type TextValue } from './document-text.ts';
export { type Duration, durationMs, parseDuration } from './duration.ts';
export { eachOf } from './each-of.ts';
export { endProcess } from './end-process.ts';
export { FairGate } from './fair-gate.ts';
export { bracketed, isWildcard } from './host.ts';
export { inPortions, inTurns } from './in-portions.ts';
export { jsonFaultAt, lineAndColumn } from './json-fault.ts';
export { KeyedLock } from './keyed-lock.ts';
export { keepMarks } from './marks.ts';
export { machineName } from './machine-name.ts';
export { LruCache } from './lru-cache.ts';
export { NameFilter } from './name-filter.ts';
export { Histogram } from './metrics/histogram.ts';
export { type MetricLabels, type MetricSample, MetricsPage } from './metrics/page.ts';
export { ProcessMetrics } from './metrics/process-metrics.ts';
export { type ProcessOptions, startProcess } from './process.ts';
export { isProcessGone, machineOf, ownProcess } from './process-identity.ts';
export { type LogAbout, type Say, processLog, textOf } from './process-log.ts';
export {
  PRIVATE_FILE,
  PRIVATE_FOLDER,
  closeToOthers,
  keepFilesPrivate,
  makePrivateFolder,
} from './private-files.ts';
export { isAlive } from './process-alive.ts';
export { SecretRedactor } from './redact-secrets.ts';
export { redactUrl } from './redact-url.ts';
export { sleep, sleepOrAbort } from './sleep.ts';
export { type StartStop, startStop } from './start-stop.ts';
export { startThread } from './thread.ts';
export { flushTraces, isTracing } from './tracing/flush.ts';
export {
  type OpenSpan,
  type SpanAttributes,
  type TracePlace,
  startSpan,
  withinTrace,
} from './tracing/span.ts';
export { SpanIds, canChooseIds, derivedId } from './tracing/span-ids.ts';
export { VirtualClock, settled } from './virtual-clock.ts';
