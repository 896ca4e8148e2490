/** Routes are data: serving, documentation and checks come from one table. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Calendar, JobId } from '../../scheduler/core/index.ts';
import type {
  AsOf,
  EventPage,
  LeaderServices,
  QueryService,
  Reader,
} from '../../scheduler/contract/index.ts';
import type { Caller, Needed } from '../security/index.ts';
import type { ApiLimits } from './limits.ts';
import type { Standing } from './ports.ts';
import type { SchemaName } from './schemas/index.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A parameter after the `?`; checked before the handler sees it. */
export type Parameter = { readonly description: string } & (
  | { readonly type: 'string'; readonly maxLength: number; readonly isRepeatable?: true }
  | { readonly type: 'integer'; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'enum'; readonly values: readonly string[] }
);

export interface AnswerDoc {
  readonly description: string;
  /** A named schema, or another kind of content. */
  readonly schema?: SchemaName;
  readonly contentType?: string;
  /** Further kinds that may be asked for instead. */
  readonly otherTypes?: readonly string[];
}

export interface Route {
  readonly method: Method;
  /** `:name` stands for one segment. */
  readonly path: string;
  /** Null: open to everybody who can reach the server. */
  readonly role: Needed | null;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: Readonly<Record<string, Parameter>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: { readonly schema: SchemaName; readonly required: boolean };
  /** By status, without the problems that every route may answer with. */
  readonly answers: Readonly<Record<number, AnswerDoc>>;
  handle(call: Call, api: ApiParts): Promise<Answer> | Answer;
}

/** An authorised request. */
export interface Call {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Parameters that may be given several times. */
  readonly lists: Readonly<Record<string, readonly string[] | undefined>>;
  readonly headers: IncomingHttpHeaders;
  /** The caller, for fair queueing: the name of a token, or a connection. */
  readonly caller: string;
  /** Null where a route is open to everybody. */
  readonly known: Caller | null;
  /** Unchecked; undefined when there is none. */
  body(): Promise<unknown>;
  /** Aborts when the client has gone or the server stops. */
  readonly signal: AbortSignal;
}

export type Answer =
  | {
      readonly kind: 'json';
      readonly status: number;
      readonly value: unknown;
      readonly asOf?: AsOf<Date>;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** JSON text in pieces, for what may be long. */
  | {
      readonly kind: 'pieces';
      readonly status: number;
      readonly pieces: Iterable<string>;
      readonly asOf: AsOf<Date>;
    }
  | { readonly kind: 'text'; readonly status: number; readonly type: string; readonly text: string }
  /** Bytes as they come. What fails before the first of them is answered as a problem. */
  | {
      readonly kind: 'bytes';
      readonly status: number;
      readonly type: string;
      readonly pieces: AsyncIterable<Uint8Array>;
      /** It counts as an open stream. */
      readonly isEndless?: boolean;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A whole file, which a browser may keep and ask about. */
  | {
      readonly kind: 'file';
      readonly status: 200 | 304;
      readonly type: string;
      /** Null with 304. */
      readonly bytes: Buffer | null;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'empty'; readonly status: 204 }
  | { readonly kind: 'events'; readonly pages: AsyncIterable<EventPage> };

/** What handlers work with. */
export interface ApiParts {
  readonly reader: Reader;
  /** Throws `not_leader`. */
  readonly leader: () => LeaderServices;
  /** Throws `unimplemented` where queries cannot be read. */
  readonly queries: () => QueryService;
  readonly standing: () => Standing;
  readonly version: string;
  readonly traceUrl: string | null;
  readonly newJobId: () => JobId;
  /** A bulk job was submitted: this node runs it. */
  readonly onBulk: () => void;
  /** Knows when schedules will run; without it only the next time is known. */
  readonly calendar: Calendar | null;
  readonly limits: ApiLimits;
  readonly metrics: { text(): Promise<string>; countSubmitted(count?: number): void };
  readonly openapi: () => unknown;
}

/** An answer without a date: it is from the memory of the leader, or never changes. */
export function ok(value: unknown): Answer {
  return { kind: 'json', status: 200, value };
}

/** The answer to a read: the value and how fresh it is, in one object. */
export function dated(asOf: AsOf<Date>, value: object, status = 200): Answer {
  return { kind: 'json', status, value: { ...value, asOf }, asOf };
}
