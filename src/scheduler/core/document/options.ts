/**
 * Retry, timeouts, placement and limits: the parts of a task that most tasks leave alone.
 * They are read from documents and stored as JSON text of only what differs from the defaults, in
 * the very shape of the document, so both directions share one reader.
 */
import { MillraceError, isMillraceError } from '../errors.ts';
import { canonicalJson, type Json } from '../json.ts';
import type { Settings } from '../settings.ts';
import type {
  Admission,
  Concurrency,
  LimitFigures,
  RetryPolicy,
  TaskOptions,
  Timeouts,
} from './document.ts';
import { ANYWHERE, readPlacement } from './placement.ts';
import { LIMIT, LIMITS_MAX, OPTIONS } from './grammar.ts';
import { Fields } from './reader.ts';
import { below, refuse } from './refuse.ts';

/** Beside the options in the stored text: whether a running task has added this one. */
const ADDED = 'added';
/** Options of the tasks of queries. Not part of the document grammar, so that no user can ask for them. */
const OUTPUT = 'output';
const ADMISSION = 'admission';
const STRAGGLERS = 'stragglerFactor';
/** What stored rows say for `output`, since before it had these names. */
const STORED_OUTPUT = { deterministic: 'stable', 'non-deterministic': 'unstable' } as const;
const STORED = {
  fields: OPTIONS,
  names: new Set([...Object.keys(OPTIONS), ADDED, OUTPUT, ADMISSION, STRAGGLERS]),
};

/** Names a limit among all of both kinds: a rate and a limit on tasks at the same time may have the same key. */
export function limitId({ key, perMs }: Pick<LimitFigures, 'key' | 'perMs'>): string {
  return `${perMs === null ? 'concurrency' : 'rate'}/${key}`;
}

const NEVER: Timeouts = Object.freeze({ queueMs: null, runMs: null, totalMs: null });

const defaults = new WeakMap<Settings, TaskOptions>();

/** One frozen object for each settings: tasks without options of their own all share it. */
export function defaultOptions(settings: Settings): TaskOptions {
  const known = defaults.get(settings);
  if (known !== undefined) return known;
  const { maxAttempts, backoffMs, maxBackoffMs, maxLosses } = settings;
  const options: TaskOptions = Object.freeze({
    retry: Object.freeze({ maxAttempts, backoffMs, maxBackoffMs, maxLosses }),
    timeouts: NEVER,
    placement: ANYWHERE,
    concurrency: null,
    limits: Object.freeze([]),
  });
  defaults.set(settings, options);
  return options;
}

const OPTION_NAMES: readonly string[] = Object.keys(OPTIONS);

/** Reads the option fields of a task document. */
export function readOptions(task: Fields, settings: Settings): TaskOptions {
  if (OPTION_NAMES.every((field) => task.raw(field) === undefined)) return defaultOptions(settings);
  return {
    retry: readRetry(task, settings),
    timeouts: readTimeouts(task),
    placement: readPlacement(task),
    ...readBothLimits(task),
  };
}

function readRetry(task: Fields, settings: Settings): RetryPolicy {
  const fields = task.inner('retry');
  const standard = defaultOptions(settings).retry;
  if (fields === undefined) return standard;
  const backoffMs = fields.whole('backoffMs');
  const maxBackoffMs = fields.whole('maxBackoffMs');
  if (backoffMs !== null && maxBackoffMs !== null && backoffMs > maxBackoffMs) {
    refuse(
      fields.at('maxBackoffMs'),
      `maxBackoffMs (${maxBackoffMs} ms) is less than backoffMs (${backoffMs} ms).`,
      'Raise maxBackoffMs, lower backoffMs, or omit one of them.',
    );
  }
  // Whichever was given wins over the default of the other.
  return {
    maxAttempts: fields.whole('maxAttempts') ?? standard.maxAttempts,
    backoffMs: backoffMs ?? Math.min(standard.backoffMs, maxBackoffMs ?? standard.backoffMs),
    maxBackoffMs: maxBackoffMs ?? Math.max(standard.maxBackoffMs, backoffMs ?? 0),
    maxLosses: fields.whole('maxLosses') ?? standard.maxLosses,
  };
}

function readTimeouts(task: Fields): Timeouts {
  const fields = task.inner('timeouts');
  if (fields === undefined) return NEVER;
  return {
    queueMs: fields.whole('queueMs'),
    runMs: fields.whole('runMs'),
    totalMs: fields.whole('totalMs'),
  };
}

function readConcurrency(task: Fields): Concurrency | null {
  const fields = task.inner('concurrency');
  if (fields === undefined) return null;
  const key =
    fields.name('key') ?? fields.missing('key', 'Tasks with the same key share the limit.');
  const limit = fields.whole('limit');
  return { key, limit: limit ?? fields.missing('limit', 'Say how many may run at the same time.') };
}

function readBothLimits(task: Fields): Pick<TaskOptions, 'concurrency' | 'limits'> {
  const concurrency = readConcurrency(task);
  const list = task.list('limits') ?? [];
  const path = task.at('limits');
  if (list.length > LIMITS_MAX) {
    refuse(path, `${list.length} limits exceed the limit of ${LIMITS_MAX} limits per task.`);
  }
  const ids = new Set(concurrency === null ? [] : [limitId({ key: concurrency.key, perMs: null })]);
  const limits = Array.from(list, (each, at): LimitFigures => {
    const fields = Fields.of(each, below(path, at), 'A limit', LIMIT);
    const limit = readLimit(fields);
    const id = limitId(limit);
    if (ids.has(id)) {
      const kind = limit.perMs === null ? 'limit on concurrency' : 'rate';
      refuse(
        fields.at('key'),
        `The task has a ${kind} with the key '${limit.key}' already.`,
        'Keep one of the two.',
      );
    }
    ids.add(id);
    return limit;
  });
  return { concurrency, limits };
}

function readLimit(fields: Fields): LimitFigures {
  return {
    key: fields.name('key') ?? fields.missing('key', 'Tasks with the same key share the limit.'),
    max: fields.whole('max') ?? fields.missing('max', 'Say how many.'),
    perMs: fields.whole('perMs'),
  };
}

/** JSON text of what differs from the defaults; null when nothing does. Same options, same text. */
export function encodeOptions(
  options: TaskOptions,
  settings: Settings,
  isAdded = false,
): string | null {
  const standard = defaultOptions(settings);
  if (options === standard && !isAdded) return null;
  const text = canonicalJson({
    ...differing('retry', options.retry, standard.retry),
    ...differing('timeouts', options.timeouts, standard.timeouts),
    ...differing('placement', options.placement, standard.placement),
    ...(options.concurrency === null
      ? {}
      : { concurrency: options.concurrency as unknown as Json }),
    ...(options.limits.length === 0 ? {} : { limits: options.limits.map(storedLimit) }),
    ...(isAdded ? { [ADDED]: true } : {}),
    ...(options.output === undefined ? {} : { [OUTPUT]: STORED_OUTPUT[options.output] }),
    ...(options.stragglerFactor === undefined ? {} : { [STRAGGLERS]: options.stragglerFactor }),
    ...(options.admission === undefined
      ? {}
      : { [ADMISSION]: { memoryBytes: options.admission.memoryBytes } }),
  });
  return text === '{}' ? null : text;
}

function storedLimit({ key, max, perMs }: LimitFigures): Json {
  return { key, max, ...(perMs === null ? {} : { perMs }) };
}

/** `{ [name]: the fields that differ }`, or nothing when none does. */
function differing<Part extends object>(
  name: string,
  part: Part,
  standard: Part,
): Record<string, Json> {
  if (part === standard) return {};
  const fields = Object.entries(part).filter(([key, value]) => {
    const usual = standard[key as keyof Part];
    return value !== usual && canonicalJson(value as Json) !== canonicalJson(usual as Json);
  });
  return fields.length === 0 ? {} : { [name]: Object.fromEntries(fields) };
}

/** The inverse of `encodeOptions`, under the same settings. */
export function decodeOptions(text: string | null, settings: Settings): TaskOptions {
  if (text === null) return defaultOptions(settings);
  try {
    const fields = Fields.of(JSON.parse(text), '', 'The stored options', STORED);
    return withOwn(readOptions(fields, settings), fields);
  } catch (cause) {
    if (!(cause instanceof SyntaxError) && !isMillraceError(cause)) throw cause;
    throw new MillraceError({
      code: 'bad_row',
      what: 'The stored options of a task cannot be read.',
      why: cause.message,
      todo: 'The store was changed by something else, or by a newer version.',
      cause,
    });
  }
}

/** With what only the tasks of queries have. */
function withOwn(options: TaskOptions, fields: Fields): TaskOptions {
  const stored = fields.choice(OUTPUT, Object.values(STORED_OUTPUT));
  const admission = fields.inner(ADMISSION, ASKED);
  const factor = fields.whole(STRAGGLERS, { min: 0, max: Number.MAX_SAFE_INTEGER });
  if (stored === undefined && admission === undefined && factor === null) return options;
  const asked = admission === undefined ? undefined : readAdmission(admission);
  return {
    ...options,
    ...(stored === undefined
      ? {}
      : { output: stored === STORED_OUTPUT.deterministic ? 'deterministic' : 'non-deterministic' }),
    ...(factor === null ? {} : { stragglerFactor: factor }),
    ...(asked === undefined ? {} : { admission: asked }),
  };
}

const ASKED = { names: new Set(['memoryBytes']) };

function readAdmission(fields: Fields): Admission {
  const memoryBytes = fields.whole('memoryBytes', { min: 0, max: Number.MAX_SAFE_INTEGER });
  return { memoryBytes: memoryBytes ?? fields.missing('memoryBytes', 'Say how much it takes.') };
}

/** Whether a running task has added the one with these stored options. */
export function isAddedTask(text: string | null): boolean {
  return text !== null && (JSON.parse(text) as Readonly<Record<string, unknown>>)[ADDED] === true;
}
