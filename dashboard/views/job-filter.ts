/** The text of the search box, as a grammar: terms with a key, and bare words. */
import type { JobSummary } from '../../src/scheduler/contract/index.ts';
import type { JobState } from '../../src/scheduler/core/index.ts';

const STATES: readonly JobState[] = ['queued', 'running', 'succeeded', 'failed', 'cancelled'];

export type Term =
  | { readonly kind: 'state'; readonly states: readonly JobState[] }
  /** `isPrefix`: written with a `*` at its end. */
  | { readonly kind: 'name'; readonly name: string; readonly isPrefix: boolean }
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'schedule'; readonly id: string }
  /** `event/NAME`, `event/NAME/ID`, `job/ID` or `job/ID/TASK`. */
  | { readonly kind: 'by'; readonly starter: string }
  | { readonly kind: 'label'; readonly key: string; readonly value: string }
  /** `*` for any signal. */
  | { readonly kind: 'waits'; readonly signal: string }
  | { readonly kind: 'age' | 'took'; readonly op: '<' | '>'; readonly ms: number };

export interface ParsedTerm {
  readonly text: string;
  readonly term: Term;
}

export type Parsed =
  | { readonly ok: true; readonly terms: readonly ParsedTerm[] }
  | { readonly ok: false; readonly message: string };

/** A key, an operator and a value, which may be quoted; or a bare word. */
const TERM = /^(?:([a-z]+(?=[:<>])|label\.[\w.-]+)([:<>=]))?("(?:[^"\\]|\\.)*"|[^\s"]+)(?=\s|$)/;
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const STARTER = /^(?:event|job)\/[\w.:@+=-]{1,200}(?:\/.+)?$/s;
const SIGNAL = /^(?:\*|[\w.:@+=-]{1,200})$/;

export function parseFilter(text: string): Parsed {
  const terms: ParsedTerm[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const match = TERM.exec(rest);
    if (match === null)
      return {
        ok: false,
        message: `Cannot read '${rest.slice(0, 40)}': a quote is not closed, or a value is missing.`,
      };
    const [whole, key, op, quoted = ''] = match;
    const value = quoted.startsWith('"') ? unquoted(quoted) : quoted;
    const term = key === undefined ? bareWord(value) : keyed(key, op ?? ':', value);
    if (typeof term === 'string') return { ok: false, message: term };
    terms.push({ text: whole, term });
    rest = rest.slice(whole.length).trimStart();
  }
  const twice = terms.find(({ term }, at) =>
    terms.some((other, no) => no < at && sameKind(other.term, term)),
  );
  return twice === undefined
    ? { ok: true, terms }
    : { ok: false, message: `'${twice.text}': there is a ${twice.term.kind} already.` };
}

const sameKind = (a: Term, b: Term): boolean =>
  a.kind === b.kind &&
  !('op' in a && 'op' in b && a.op !== b.op) &&
  !('key' in a && 'key' in b && a.key !== b.key);

const unquoted = (text: string): string => text.slice(1, -1).replaceAll(/\\(.)/g, '$1');

/** What looks like an id is one. */
function bareWord(word: string): Term {
  const isId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i.test(word);
  return isId ? { kind: 'id', id: word } : nameTerm(word);
}

function nameTerm(word: string): Term {
  const isPrefix = word.endsWith('*');
  return { kind: 'name', name: isPrefix ? word.slice(0, -1) : word, isPrefix };
}

/** The term, or what is wrong with it. */
function keyed(key: string, op: string, value: string): Term | string {
  if (key.startsWith('label.')) {
    if (op === '<' || op === '>') return `'${key}' takes an equals sign: ${key}=${value}.`;
    return { kind: 'label', key: key.slice('label.'.length), value };
  }
  switch (key) {
    case 'state': {
      if (op !== ':') return `'state' takes a colon: state:failed.`;
      const states = value.split(',');
      const wrong = states.find((each) => !STATES.some((state) => state === each));
      if (wrong !== undefined) return `'${wrong}' is not a state. Use ${STATES.join(', ')}.`;
      return { kind: 'state', states: states as JobState[] };
    }
    case 'name':
      return op === ':' ? nameTerm(value) : `'name' takes a colon: name:nightly.`;
    case 'id':
      return op === ':' ? { kind: 'id', id: value } : `'id' takes a colon: id:ID.`;
    case 'schedule':
      return op === ':'
        ? { kind: 'schedule', id: value }
        : `'schedule' takes a colon: schedule:nightly.`;
    case 'by':
      if (op !== ':' || !STARTER.test(value))
        return `'by' takes what has started the job: by:event/order.created, by:job/ID.`;
      return { kind: 'by', starter: value };
    case 'waits':
      if (op !== ':' || !SIGNAL.test(value))
        return `'waits' takes a signal: waits:approval, waits:*.`;
      return { kind: 'waits', signal: value };
    case 'age':
    case 'took': {
      const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|min|h|d)$/.exec(value) ?? [];
      if (number === undefined || op === ':')
        return `'${key}' compares with a time: ${key}>5m, ${key}<30s.`;
      return { kind: key, op: op === '<' ? '<' : '>', ms: Number(number) * (UNIT_MS[unit] ?? 1) };
    }
    default:
      return `'${key}' is not known. Use state, name, id, schedule, by, waits, age, took or label.KEY.`;
  }
}

/** The term that finds jobs with this label. */
export function labelTerm(key: string, value: string): string {
  const isPlain = /^[^\s"\\]+$/.test(value);
  return `label.${key}=${isPlain ? value : `"${value.replaceAll(/["\\]/g, '\\$&')}"`}`;
}

/** What the server can look up by itself. Ages are times for it, as seen from `nowMs`. */
export function serverPart(
  terms: readonly ParsedTerm[],
  nowMs: number,
): {
  readonly state?: JobState;
  readonly name?: string;
  readonly labels?: readonly string[];
  readonly waitingFor?: string;
  readonly schedule?: string;
  readonly startedBy?: string;
  readonly since?: string;
  readonly until?: string;
} {
  const [state, ...more] = terms.flatMap(({ term }) => (term.kind === 'state' ? term.states : []));
  const name = terms.flatMap(({ term }) =>
    term.kind === 'name' && !term.isPrefix ? [term.name] : [],
  )[0];
  const labels = terms.flatMap(({ term }) =>
    term.kind === 'label' ? [`${term.key}:${term.value}`] : [],
  );
  const waiting = terms.flatMap(({ term }) => (term.kind === 'waits' ? [term.signal] : []))[0];
  const schedule = terms.flatMap(({ term }) => (term.kind === 'schedule' ? [term.id] : []))[0];
  const by = terms.flatMap(({ term }) => (term.kind === 'by' ? [term.starter] : []))[0];
  const times = terms.flatMap(({ term }) => {
    if (term.kind !== 'age') return [];
    // A search for a thousand years is a search all the same.
    const at = new Date(Math.max(0, nowMs - term.ms)).toISOString();
    return [[term.op === '<' ? 'since' : 'until', at]];
  });
  return {
    ...(state === undefined || more.length > 0 ? {} : { state }),
    ...(name === undefined ? {} : { name }),
    ...(labels.length === 0 ? {} : { labels }),
    ...(waiting === undefined ? {} : { waitingFor: waiting }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(by === undefined ? {} : { startedBy: by }),
    ...(Object.fromEntries(times) as { readonly since?: string; readonly until?: string }),
  };
}

/** Whether some terms are looked at here, job by job. */
export const hasLocalPart = (terms: readonly ParsedTerm[]): boolean =>
  terms.some(
    ({ term }) =>
      term.kind === 'took' ||
      (term.kind === 'name' && term.isPrefix) ||
      (term.kind === 'state' && term.states.length > 1),
  );

export function fits(job: JobSummary, terms: readonly ParsedTerm[], nowMs: number): boolean {
  return terms.every(({ term }) => {
    switch (term.kind) {
      case 'state':
        return term.states.includes(job.state);
      case 'name':
        return term.isPrefix ? job.name.startsWith(term.name) : job.name === term.name;
      case 'id':
        return job.id === term.id;
      case 'schedule':
        return job.scheduleId === term.id;
      case 'by':
        // The server has looked for it.
        return job.startedBy !== null;
      case 'label':
        return Object.hasOwn(job.labels, term.key) && job.labels[term.key] === term.value;
      case 'waits':
        // Only the server knows, and only in such a list.
        return job.waitsFor !== undefined;
      case 'age':
        return compared(nowMs - Date.parse(job.createdAt), term);
      case 'took': {
        if (job.startedAt === null) return false;
        const end = job.finishedAt === null ? nowMs : Date.parse(job.finishedAt);
        return compared(end - Date.parse(job.startedAt), term);
      }
    }
  });
}

const compared = (
  ms: number,
  { op, ms: limit }: { readonly op: '<' | '>'; readonly ms: number },
): boolean => (op === '<' ? ms < limit : ms > limit);

/** The text with or without the search for all jobs that wait for a signal. */
export function withWaits(text: string, isWanted: boolean): string {
  const parsed = parseFilter(text);
  const others = parsed.ok ? parsed.terms.filter(({ term }) => term.kind !== 'waits') : [];
  return [...(isWanted ? ['waits:*'] : []), ...others.map((each) => each.text)].join(' ');
}

/** The text with a term of that kind replaced, added or removed. */
export function withState(text: string, state: JobState | null): string {
  const parsed = parseFilter(text);
  const others = parsed.ok ? parsed.terms.filter(({ term }) => term.kind !== 'state') : [];
  return [...(state === null ? [] : [`state:${state}`]), ...others.map((each) => each.text)].join(
    ' ',
  );
}
