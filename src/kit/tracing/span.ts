/** Spans over the user's OpenTelemetry. Everything here answers null while nobody has registered a tracer provider. */
import type * as Api from '@opentelemetry/api';
import { tracingApi } from './api.ts';
import { type PreparedIds, withIds } from './span-ids.ts';

/** A place in a trace, as W3C Trace Context writes it: `00-<trace id>-<span id>-<flags>`. */
export interface TracePlace {
  readonly parent: string;
  readonly state: string | null;
}

export type SpanKind = 'internal' | 'producer' | 'consumer';
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  readonly kind: SpanKind;
  /** Null begins a trace; without it whatever is active here is the parent. */
  readonly parent?: TracePlace | null;
  readonly links?: readonly TracePlace[];
  readonly attributes?: SpanAttributes;
  /** In milliseconds since 1970, if not now. */
  readonly startMs?: number;
  /** Where the user has set up `SpanIds`. */
  readonly ids?: PreparedIds;
}

export interface OpenSpan {
  readonly place: TracePlace;
  readonly isRecording: boolean;
  /** Spans that `fn` starts are its children, if the user has registered a context manager. */
  within<T>(fn: () => T): T;
  /** As a child of what is active here if that is of the user's making, otherwise as a child of this. */
  child(name: string, attributes: SpanAttributes): OpenSpan;
  set(attributes: SpanAttributes): void;
  /** `type` is a code, never a message: messages may contain anything. */
  fail(type: string): void;
  /** In milliseconds since 1970, if not now. Only the first call counts. */
  end(endMs?: number): void;
}

export function startSpan(name: string, options: SpanOptions): OpenSpan | null {
  const api = tracingApi();
  return api === null ? null : started(api, name, options, parentContext(api, options.parent));
}

/** Runs `fn` at a place in a trace whose span lives elsewhere. */
export function withinTrace<T>(place: TracePlace | null, fn: () => T): T {
  const api = place === null ? null : tracingApi();
  if (api === null) return fn();
  return api.context.with(parentContext(api, place), fn);
}

function parentContext(api: typeof Api, parent: TracePlace | null | undefined): Api.Context {
  if (parent === undefined) return api.context.active();
  if (parent === null) return api.ROOT_CONTEXT;
  return api.trace.setSpanContext(api.ROOT_CONTEXT, contextOf(api, parent));
}

function contextOf(api: typeof Api, { parent, state }: TracePlace): Api.SpanContext {
  return {
    traceId: parent.slice(3, 35),
    spanId: parent.slice(36, 52),
    traceFlags: Number.parseInt(parent.slice(53, 55), 16),
    isRemote: true,
    ...(state === null ? {} : { traceState: api.createTraceState(state) }),
  };
}

function started(
  api: typeof Api,
  name: string,
  { kind, links = [], attributes, startMs, ids }: SpanOptions,
  parent: Api.Context,
): OpenSpan {
  const options: Api.SpanOptions = {
    kind: kindOf(api, kind),
    links: links.map((link) => ({ context: contextOf(api, link) })),
    ...(attributes === undefined ? {} : { attributes: { ...attributes } }),
    ...(startMs === undefined ? {} : { startTime: new Date(startMs) }),
  };
  const tracer = api.trace.getTracer('millrace');
  const span = withIds(ids ?? null, () => tracer.startSpan(name, options, parent));
  return new Started(api, span, parent);
}

class Started implements OpenSpan {
  readonly place: TracePlace;
  readonly #api: typeof Api;
  readonly #span: Api.Span;
  readonly #context: Api.Context;
  #isEnded = false;

  constructor(api: typeof Api, span: Api.Span, parent: Api.Context) {
    this.#api = api;
    this.#span = span;
    this.#context = api.trace.setSpan(parent, span);
    const { traceId, spanId, traceFlags, traceState } = span.spanContext();
    const flags = (traceFlags & 1) === 1 ? '01' : '00';
    const state = traceState?.serialize() ?? '';
    this.place = {
      parent: `00-${traceId}-${spanId}-${flags}`,
      state: state === '' ? null : state,
    };
  }

  get isRecording(): boolean {
    return this.#span.isRecording();
  }

  within<T>(fn: () => T): T {
    return this.#api.context.with(this.#context, fn);
  }

  child(name: string, attributes: SpanAttributes): OpenSpan {
    const active = this.#api.context.active();
    const parent = this.#api.trace.getSpan(active) === undefined ? this.#context : active;
    return started(this.#api, name, { kind: 'internal', attributes }, parent);
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes({ ...attributes });
  }

  fail(type: string): void {
    this.#span.setAttribute('error.type', type);
    this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
  }

  end(endMs?: number): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#span.end(endMs === undefined ? undefined : new Date(endMs));
  }
}

function kindOf({ SpanKind: kinds }: typeof Api, kind: SpanKind): Api.SpanKind {
  switch (kind) {
    case 'internal':
      return kinds.INTERNAL;
    case 'producer':
      return kinds.PRODUCER;
    case 'consumer':
      return kinds.CONSUMER;
  }
}
