/** A stub of an OpenTelemetry collector: takes spans in over OTLP/HTTP with JSON, and draws them as trees. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly service: string;
  /** 1 internal, 4 producer, 5 consumer. */
  readonly kind: number;
  /** 2 for an error. */
  readonly status: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}

interface Attribute {
  readonly key: string;
  readonly value: Value;
}

type SentSpan = Pick<Span, 'traceId' | 'spanId' | 'name' | 'kind'> & {
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code?: number };
  readonly links?: Span['links'];
};

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

export interface Collector {
  readonly url: string;
  /** All that has come, in no order. */
  readonly spans: readonly Span[];
  close(): void;
}

export async function collect(port: number): Promise<Collector> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const answer = (status: number): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    };
    text(request)
      .then((body) => spans.push(...read(JSON.parse(body) as Sent)))
      .then(
        () => answer(200),
        () => answer(400),
      );
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${bound}`, spans, close: () => void server.close() };
}

function read({ resourceSpans }: Sent): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource?.attributes)['service.name'] ?? '');
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => readSpan(span, service)));
  });
}

function readSpan(sent: SentSpan, service: string): Span {
  const { traceId, spanId, parentSpanId = '', name, kind, attributes, status, links } = sent;
  return {
    ...{ traceId, spanId, parentSpanId, name, kind, service },
    status: status?.code ?? 0,
    startMs: Number(BigInt(sent.startTimeUnixNano) / 1_000n) / 1_000,
    endMs: Number(BigInt(sent.endTimeUnixNano) / 1_000n) / 1_000,
    attributes: valuesOf(attributes),
    links: (links ?? []).map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
  };
}

function valuesOf(
  attributes: readonly Attribute[] = [],
): Record<string, string | number | boolean> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => {
      const number = intValue === undefined ? doubleValue : Number(intValue);
      return [key, stringValue ?? number ?? boolValue ?? ''];
    }),
  );
}

/** One line for each span, children below their parents, oldest first. */
export function drawn(spans: readonly Span[]): string[] {
  const sorted = spans.toSorted((a, b) => a.startMs - b.startMs);
  const known = new Set(spans.map(({ spanId }) => spanId));
  const below = (parent: Span, depth: number): string[] => [
    line(parent, depth),
    ...sorted
      .filter(({ parentSpanId }) => parentSpanId === parent.spanId)
      .flatMap((child) => below(child, depth + 1)),
  ];
  return sorted
    .filter(({ parentSpanId }) => !known.has(parentSpanId))
    .flatMap((root) => below(root, 0));
}

function line({ name, startMs, endMs, status, links }: Span, depth: number): string {
  const parts = [
    `${'  '.repeat(depth)}${name}`,
    `${(endMs - startMs).toFixed(1)} ms`,
    ...(status === 2 ? ['failed'] : []),
    ...(links.length === 0 ? [] : [`continues ${links.length} spans of other traces`]),
  ];
  return parts.join(', ');
}
