/** The kinds of value that a setting can have: how each is read, from whatever source, and shown. */
import { isAbsolute, resolve } from 'node:path';
import {
  type Capabilities,
  isId,
  parseCapabilities,
  readClusterWebhook,
} from '../../scheduler/core/index.ts';
import { redactUrl } from '../../kit/index.ts';
import { parseBytes, parseMs, showBytes, showMs } from './units.ts';

export interface Kind<T> {
  /** The placeholder of the value in a usage line: `--port <number>`; empty for a switch. */
  readonly word: string;
  /** A flag of this kind may be given several times. */
  readonly isRepeatable?: true;
  /** Ends the sentence "It must be ...". */
  readonly expected: string;
  /** `undefined` says no. What is read may be text (flags, environment) or any value of a file. */
  read(raw: unknown): T | undefined;
  /** For people, without secrets. */
  show(value: T): string;
  /** Kinds that name files: a path in a configuration file is relative to that file. */
  readonly relativeTo?: (value: T, folder: string) => T;
}

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): Kind<number> {
  return {
    word: 'number',
    expected: `a whole number${range(min, max, String)}`,
    read: (raw) => within(typeof raw === 'string' ? integer(raw) : raw, min, max),
    show: String,
  };
}

export function duration(min: number, max: number = Number.MAX_SAFE_INTEGER): Kind<number> {
  return {
    word: 'duration',
    expected: `a duration such as 1500, 1.5s or 10m${range(min, max, showMs)}`,
    read: (raw) => within(parseMs(raw), min, max),
    show: showMs,
  };
}

export function size(min: number): Kind<number> {
  return {
    word: 'size',
    expected: `a size such as 65536, 64KiB or 1GB${range(min, Number.MAX_SAFE_INTEGER, String)}`,
    read: (raw) => within(parseBytes(raw), min, Number.MAX_SAFE_INTEGER),
    show: showBytes,
  };
}

export function choice<T extends string>(...words: readonly T[]): Kind<T> {
  return {
    word: words.join('|'),
    expected: `one of ${words.join(', ')}`,
    read: (raw) => words.find((word) => word === raw),
    show: (value) => value,
  };
}

const YES: ReadonlySet<unknown> = new Set([true, 'true', '1', 'yes', 'on']);
const NO: ReadonlySet<unknown> = new Set([false, 'false', '0', 'no', 'off']);

export const yesOrNo: Kind<boolean> = {
  word: '',
  expected: 'true or false',
  read: (raw) => (YES.has(raw) ? true : NO.has(raw) ? false : undefined),
  show: String,
};

export const id: Kind<string> = textKind(
  'name',
  'an id: letters, digits and _ . : @ + = -, at most 200 of them',
  isId,
);

export const host: Kind<string> = textKind(
  'host',
  'a host name or an address, without a port',
  (text) => /^[A-Za-z0-9_.:%-]+$/.test(text) && !/^[^:]+:\d+$/.test(text),
);

export const address: Kind<string> = textKind(
  'host:port',
  'HOST:PORT, such as 10.0.0.5:7071',
  isAddress,
);

/** A node to find the leader by: its gRPC address, or the URL of its HTTP API. */
export const serverAddress: Kind<string> = textKind(
  'host:port',
  'HOST:PORT or a URL, such as 10.0.0.5:7071 or http://10.0.0.5:7070',
  (text) => isAddress(text) || (isHttpUrl(text) && !text.includes('@')),
);

/** One URL, or several of one cluster separated by commas. */
export const httpUrl: Kind<string> = {
  word: 'url',
  expected:
    'an address such as http://127.0.0.1:7070 or 127.0.0.1:7070 (those that workers connect to are ' +
    'MILLRACE_SERVERS)',
  read: (raw) => {
    if (typeof raw !== 'string') return undefined;
    const urls = raw.split(',').map((each) => withScheme(each.trim()));
    return urls.every(isHttpUrl) ? urls.join(',') : undefined;
  },
  show: redactUrl,
};

/** Where people look at traces. */
export const traceUrl: Kind<string> = textKind(
  'url',
  'a URL with {trace} in it, such as https://jaeger.example/trace/{trace}',
  (text) => text.split('{trace}').length === 2 && isHttpUrl(text.replace('{trace}', '0')),
);

function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s/]\S*$/.test(text) && URL.canParse(text);
}

/** `HOST:PORT` alone means HTTP. */
function withScheme(address: string): string {
  return /^([\w.-]+|\[[0-9a-f:.]+\]):\d{1,5}$/i.test(address) ? `http://${address}` : address;
}

export const databaseUrl: Kind<string> = {
  word: 'url',
  expected: 'a PostgreSQL URL such as postgres://user@host:5432/name',
  read: (raw) => (typeof raw === 'string' && /^postgres(ql)?:\/\/\S+$/.test(raw) ? raw : undefined),
  show: redactUrl,
};

/** Nothing of it is ever shown, not even its length. */
export const secret: Kind<string> = {
  word: 'token',
  expected: 'a token of at least 16 characters without spaces',
  read: (raw) => (typeof raw === 'string' && /^\S{16,}$/.test(raw) ? raw : undefined),
  show: () => '***',
};

export const webhookKind: Kind<string> = textKind(
  'url',
  'https://HOST/PATH, or the ends of jobs in front of it: failed+cancelled:https://HOST/PATH',
  (text) => readClusterWebhook(text) !== null,
);

export const path: Kind<string> = {
  ...textKind('path', 'a path', (text) => !text.includes('\0')),
  relativeTo: (value, folder) => resolve(folder, value),
};

/** Nothing relative: which program that would be depends on where the worker was started. */
export const program: Kind<string> = textKind(
  'command',
  'the name of a command or an absolute path',
  (text) => !text.includes('\0') && (isAbsolute(text) || /^[^-/\\.][^/\\]*$/.test(text)),
);

export const variable: Kind<string> = textKind(
  'name',
  'the name of an environment variable, or its beginning followed by *',
  (text) => /^([A-Za-z_][A-Za-z0-9_]*)?\*?$/.test(text) && text !== '',
);

/** A list in a file, repeated flags, or one text with commas. Only paths may hold commas themselves. */
export function list(each: Kind<string>): Kind<readonly string[]> {
  const { relativeTo } = each;
  const split = (part: unknown): unknown =>
    relativeTo === undefined && typeof part === 'string' ? part.split(',') : part;
  return {
    word: each.word,
    isRepeatable: true,
    expected: `a list, each of it ${each.expected}`,
    read(raw) {
      const parts: unknown = typeof raw === 'string' ? raw.split(',') : raw;
      if (!Array.isArray(parts)) return undefined;
      const items = parts
        .flatMap(split)
        .map((part: unknown) => each.read(typeof part === 'string' ? part.trim() : part));
      return items.includes(undefined) ? undefined : items.filter((item) => item !== undefined);
    },
    show: (value) => value.map((item) => each.show(item)).join(', '),
    ...(relativeTo && {
      relativeTo: (value, folder) => value.map((item) => relativeTo(item, folder)),
    }),
  };
}

/** `k=v` once or repeated, with commas between in one text, or an object; refuses as the core does. */
export const capabilities: Kind<Capabilities> = {
  word: 'name=value',
  isRepeatable: true,
  expected: 'capabilities such as gpu=nvidia,cpu_cores=8, or an object of them',
  read(raw) {
    if (typeof raw === 'string' && raw.trim().startsWith('{')) return parseCapabilities(json(raw));
    const words: unknown = typeof raw === 'string' ? raw.split(',') : raw;
    if (!Array.isArray(words)) return parseCapabilities(raw);
    const pairs = words.map((word: unknown) => /^\s*([^=]+)=(.*)$/s.exec(String(word)));
    if (pairs.includes(null)) return undefined;
    return parseCapabilities(
      Object.fromEntries(pairs.map((pair) => [pair?.[1]?.trim(), json(pair?.[2]?.trim() ?? '')])),
    );
  },
  show: (value) =>
    Object.entries(value)
      .map(([name, each]) => `${name}=${typeof each === 'string' ? each : JSON.stringify(each)}`)
      .join(', '),
};

/** A setting without a default. */
export function optional<T>(kind: Kind<T>): Kind<T | undefined> {
  const { relativeTo } = kind;
  return {
    word: kind.word,
    expected: kind.expected,
    read: (raw) => kind.read(raw),
    show: (value) => (value === undefined ? '' : kind.show(value)),
    ...(relativeTo && {
      relativeTo: (value, folder) => (value === undefined ? value : relativeTo(value, folder)),
    }),
  };
}

function textKind(
  word: string,
  expected: string,
  isRight: (text: string) => boolean,
): Kind<string> {
  return {
    word,
    expected,
    read: (raw) => (typeof raw === 'string' && raw !== '' && isRight(raw) ? raw : undefined),
    show: (value) => value,
  };
}

function isAddress(text: string): boolean {
  const [, port] = /^(?:[A-Za-z0-9_.-]+|\[[A-Fa-f0-9:.%]+\]):(\d{1,5})$/.exec(text) ?? [];
  return port !== undefined && Number(port) <= 65_535;
}

function within(value: unknown, min: number, max: number): number | undefined {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined;
  return value >= min && value <= max ? value : undefined;
}

function integer(text: string): number | undefined {
  return /^[+-]?\d{1,16}$/.test(text.trim()) ? Number(text) : undefined;
}

function range(min: number, max: number, show: (value: number) => string): string {
  if (max < Number.MAX_SAFE_INTEGER) return ` from ${show(min)} to ${show(max)}`;
  if (min === 0) return ', 0 or more';
  return min === 1 ? ' above 0' : ` of at least ${show(min)}`;
}

/** Numbers, true and lists are what they look like; everything else is text. */
function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
