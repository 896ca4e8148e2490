/**
 * The scheduler's heart: a pure, deterministic state machine. Jobs, tasks, leases, nodes,
 * placement, retry, fairness and schedules live here; so do the rows that make them durable.
 *
 * What does not live here: clocks, randomness, I/O. Time comes in with every event, ids come in
 * as values, and all that goes out is effects. This room imports nothing.
 */
export * from './document/document.ts';
export {
  fieldIn,
  isEventMatch,
  isScalar,
  readEventField,
  readEventMatch,
} from './document/event-match.ts';
export { checkDepth, mayBeDeep, parseShallow } from './document/depth.ts';
export { withInput } from './document/edited-input.ts';
export { forkDocument } from './document/from-rows.ts';
export type { Fork } from './document/from-rows.ts';
export { INPUT_GAP, INPUT_TASK, flowDocument } from './document/flow-document.ts';
export type { FlowStart } from './document/flow-document.ts';
export { withJobFields } from './document/job-fields.ts';
export { withDefaults } from './document/schema-defaults.ts';
export { inputReferences, resolveInput } from './document/input.ts';
export { jobDocumentReader, parseJobDocument, parseTaskDocuments } from './document/parse.ts';
export { listParser } from './document/parse-list.ts';
export type { KnownTasks } from './document/parse.ts';
export {
  KEEP_TEXT,
  NO_JOB_OPTIONS,
  decodeJobOptions,
  isUnkept,
  priorityOf,
  runAtOf,
} from './document/job-options.ts';
export type { StartedBy } from './document/job-options.ts';
export {
  STARTER_LENGTH_MAX,
  isStartedAs,
  readStarter,
  starterKey,
  starterPart,
} from './document/started-by.ts';
export { decodeOptions } from './document/options.ts';
export * from './document/sent-event.ts';
export { whyEnded } from './steps/reschedule.ts';
export { labelsOf, readLabel } from './document/labels.ts';
export { readMoment, readStart } from './document/moment.ts';
export type { Labels } from './document/labels.ts';
export { pointedAt, pointerTokens } from './document/pointer.ts';
export { jobSchema } from './document/schema.ts';
export { asLiteral } from './document/template.ts';
export { NAMES_MAX, readName } from './document/reader.ts';
export { didYouMean } from './document/spelling.ts';
export { utf8Bytes } from './document/text.ts';
export { readTrace, traceIdOf } from './document/trace.ts';
export { auditState } from './audit.ts';
export { LinkedList, Place } from './memory/linked-list.ts';
export { PagedMap } from './memory/paged-map.ts';
export { RenewedMap } from './memory/renewed.ts';
export { TaskMap } from './memory/row-list.ts';
export { Effects } from './effects.ts';
export type {
  Assignment,
  EventFate,
  JobReply,
  Orders,
  Reply,
  ReplyBody,
  BackfilledJob,
  ScheduleReply,
  SignalFate,
  Verdict,
  WokenTask,
} from './effects.ts';
export * from './errors.ts';
export type * from './event.ts';
export { explain } from './explain.ts';
export { figures } from './figures.ts';
export { taskTrees } from './job/roll-up.ts';
export type { TaskTree } from './job/roll-up.ts';
export * from './fragment.ts';
export { heldTasks } from './held-tasks.ts';
export type { HeldTask } from './held-tasks.ts';
export type { SchedulerFigures } from './figures.ts';
export type { Explanation } from './explain.ts';
export * from './ids.ts';
export { dependencyNumbers } from './job/edges.ts';
export { endOf } from './job/ending.ts';
export type { TaskEnd } from './job/ending.ts';
export { keyScope } from './job/execution-key.ts';
export { resolveJobResult } from './job/result.ts';
export type { ResultTask } from './job/result.ts';
export { JSON_TYPES, SHAPE_LENGTH_MAX, readSignalShape } from './job/signal-shape.ts';
export type { JsonType, SignalShape } from './job/signal-shape.ts';
export {
  ANY_SIGNAL,
  EVENT_END_STEP,
  EVENT_STEP,
  EVENT_WAIT,
  SIGNAL_WAIT_START,
  TRACE_STEP,
  UNFIT_STEP,
  awaitedEvent,
  awaitedSignals,
  awaitsSignal,
  nthSignalStep,
  signalWaitPart,
  takenAtStep,
} from './job/waits.ts';
export { readClusterWebhook } from './document/webhooks.ts';
export { decodeWebhookInput, isWebhookJob } from './job/webhook.ts';
export type { WebhookInput, WebhookJob } from './job/webhook.ts';
export type { AwaitedSignal, AwaitedThings } from './job/waits.ts';
export * from './json.ts';
export * from './log/kinds.ts';
export { hasCapability } from './node/capability.ts';
export { parseCapabilities } from './node/capability-reader.ts';
export * from './node/flow.ts';
export * from './node/operator.ts';
export type { NodeOffer } from './node/node.ts';
export * from './random.ts';
export {
  announceLoss,
  announceTerm,
  forgetIfOver,
  type LossDetail,
  restoreCluster,
  restoreDone,
  restoreJob,
} from './restore.ts';
export * from './rows.ts';
export { parsePause, parsePauseTarget } from './queue/pause.ts';
export type { Pause, PauseTarget } from './queue/pause.ts';
export { QueueCounter } from './queues.ts';
export {
  SCHEDULE_ID_LENGTH_MAX,
  backfilledJobId,
  isOccurrenceId,
  scheduledTime,
} from './schedule/occurrence.ts';
export type { Calendar, ScheduleSpec } from './schedule/schedule.ts';
export { upcomingOccurrences } from './schedule/schedule.ts';
export { backfillTimes, readBackfill } from './schedule/backfill.ts';
export { isDeclined } from './schedule/declined.ts';
export { encodeScheduleSpec, parseScheduleSpec } from './schedule/spec.ts';
export * from './settings.ts';
export { SchedulerState } from './state.ts';
export type { SchedulerOptions } from './state.ts';
export { step } from './step.ts';
export { checkStorable, isStorableText, unstorableIn, unstorableJob } from './storable.ts';
export type { Unstorable } from './storable.ts';
export * from './task/chart.ts';
export type { LeaseName } from './task/lease.ts';
export { MAY_WAIT, isMeaningMany } from './steps/raise.ts';
export { findLease } from './steps/session.ts';
