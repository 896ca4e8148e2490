/**
 * Takes the log lines of tasks from workers and appends them to the store, many at a time and one append at a time. It
 * does not belong to the commits, which never wait for it. A worker is answered when its lines are stored; what it still
 * holds when it crashes is lost.
 */
import { MillraceError, instant, isId, utf8Bytes } from '../core/index.ts';
import type { JobId, Settings } from '../core/index.ts';
import { LruCache, SecretRedactor } from '../../kit/index.ts';
import type { Session, TaskLogLine } from '../contract/index.ts';
import { LOG_LEVELS } from '../store/index.ts';
import type { LogRow, Store } from '../store/index.ts';
import { cleanText } from './text.ts';

export interface TaskLogWriterOptions {
  readonly store: Pick<Store, 'taskLog' | 'jobRow'>;
  readonly shard: number;
  readonly settings: Pick<Settings, 'taskLogBytesMax' | 'jobLogBytesMax'>;
  /** Whether the node has this session. */
  readonly hasSession: (session: Session) => boolean;
  /** Whether the job is in the leader's memory. */
  readonly isLive: (job: JobId) => boolean;
}

/** Longer messages are cut, longer fields left out. */
const MESSAGE_CHARS_MAX = 8_192;
const FIELDS_CHARS_MAX = 8_192;
const NAME_CHARS_MAX = 1_024;
/** In one append. */
const ROWS_MAX = 5_000;
/** Waiting for the store; beyond that workers are asked to come again. */
const WAITING_MAX = 20_000;
/** Jobs that have ended, and tasks that have printed: beyond that, old ones are forgotten. */
const REMEMBERED_MAX = 20_000;

interface Waiting {
  readonly rows: readonly LogRow[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class TaskLogWriter {
  readonly #options: TaskLogWriterOptions;
  /** Jobs that are not in memory and were found in the store: the last lines of a job arrive with its end or after it. */
  readonly #ended: LruCache<JobId, true> = new LruCache({ max: REMEMBERED_MAX });
  /** Bytes that were stored in this term, by job and by task. */
  readonly #bytes: LruCache<string, { bytes: number }> = new LruCache({ max: REMEMBERED_MAX });
  readonly #redactor: SecretRedactor = new SecretRedactor();
  #waiting: Waiting[] = [];
  #waitingRows = 0;
  #isWriting = false;

  constructor(options: TaskLogWriterOptions) {
    this.#options = options;
  }

  async write(session: Session, lines: readonly TaskLogLine[]): Promise<void> {
    if (!this.#options.hasSession(session)) throw unknownSession(session);
    if (this.#waitingRows > WAITING_MAX) throw overloaded();
    await this.#lookUp(lines);
    const rows = lines.flatMap((line) => this.#accepted(line));
    if (rows.length === 0) return;
    this.#waitingRows += rows.length;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject });
      this.#pump();
    });
  }

  /** The end of a job leaves the memory before it is committed, so the store is asked as well. */
  async #lookUp(lines: readonly TaskLogLine[]): Promise<void> {
    const { store, shard, isLive } = this.#options;
    const unknown = new Set(
      lines.map(({ jobId }) => jobId).filter((id) => isId(id) && !isLive(id)),
    );
    for (const id of unknown) {
      if (this.#ended.get(id) === true) continue;
      if ((await store.jobRow(shard, id)) !== null) this.#ended.set(id, true);
    }
  }

  #pump(): void {
    if (this.#isWriting || this.#waiting.length === 0) return;
    this.#isWriting = true;
    const taken: Waiting[] = [];
    let count = 0;
    while (this.#waiting.length > 0 && count < ROWS_MAX) {
      const next = this.#waiting.shift() as Waiting;
      taken.push(next);
      count += next.rows.length;
    }
    void this.#append(taken).finally(() => {
      this.#isWriting = false;
      this.#waitingRows -= count;
      this.#pump();
    });
  }

  async #append(taken: readonly Waiting[]): Promise<void> {
    const { store, shard } = this.#options;
    try {
      await store.taskLog.append(
        shard,
        taken.flatMap(({ rows }) => rows),
      );
      for (const { resolve } of taken) resolve();
    } catch (error) {
      for (const { reject } of taken) reject(error);
    }
  }

  #accepted(line: TaskLogLine): readonly LogRow[] {
    const { jobId, taskId, attempt, at, level } = line;
    const isKnown = this.#options.isLive(jobId) || this.#ended.get(jobId) === true;
    if (!isKnown || !isSound(line)) return [];
    const message = cleanText(this.#redactor.text(cut(line.message)));
    const fields = line.fields === null ? null : this.#fields(line.fields);
    const row = { jobId, taskId, attempt, at: instant(Math.round(at)), level, message, fields };
    const bytes = utf8Bytes(message) + utf8Bytes(fields ?? '') + 64;
    const { taskLogBytesMax, jobLogBytesMax } = this.#options.settings;
    if ((this.#bytes.get(jobId)?.bytes ?? 0) > jobLogBytesMax) return [];
    const ofTask = this.#grow(`${jobId}/${taskId}`, bytes, taskLogBytesMax);
    if (ofTask !== 'fits') return ofTask === 'full' ? [] : [limitRow(row, 'task', taskLogBytesMax)];
    const ofJob = this.#grow(jobId, bytes, jobLogBytesMax);
    if (ofJob !== 'fits') return ofJob === 'full' ? [] : [limitRow(row, 'job', jobLogBytesMax)];
    return [row];
  }

  /** The line that crosses the limit is replaced by one that says so. */
  #grow(key: string, bytes: number, max: number): 'fits' | 'crosses' | 'full' {
    const known = this.#bytes.get(key) ?? { bytes: 0 };
    if (known.bytes > max) return 'full';
    known.bytes += bytes;
    this.#bytes.set(key, known);
    return known.bytes > max ? 'crosses' : 'fits';
  }

  #fields(text: string): string | null {
    if (text.length > FIELDS_CHARS_MAX) return '{"omitted":"the fields are too large"}';
    try {
      const value: unknown = JSON.parse(text);
      if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
      return cleanText(JSON.stringify(this.#redactor.json(value)).replaceAll('\\u0000', '\\ufffd'));
    } catch {
      return null;
    }
  }
}

/** Workers of any make send lines. */
function isSound({ taskId, attempt, at, level, message }: TaskLogLine): boolean {
  return (
    typeof taskId === 'string' &&
    taskId.length <= NAME_CHARS_MAX &&
    cleanText(taskId) === taskId &&
    Number.isInteger(attempt) &&
    attempt >= 0 &&
    attempt < 2 ** 31 &&
    Number.isFinite(at) &&
    at >= 0 &&
    at < 8.64e15 &&
    LOG_LEVELS.includes(level) &&
    typeof message === 'string'
  );
}

function cut(message: string): string {
  const over = message.length - MESSAGE_CHARS_MAX;
  return over <= 0
    ? message
    : `${message.slice(0, MESSAGE_CHARS_MAX)} [${over} characters omitted]`;
}

function limitRow(row: LogRow, what: 'task' | 'job', bytesMax: number): LogRow {
  const setting = what === 'task' ? 'taskLogBytesMax' : 'jobLogBytesMax';
  const message = `The log of this ${what} has reached ${bytesMax} bytes (${setting}); further lines are not kept.`;
  return { ...row, level: 'warn', message, fields: null };
}

function unknownSession({ nodeId }: Session): MillraceError {
  return new MillraceError({
    code: 'unknown_session',
    what: `Node ${nodeId} has no session of this name.`,
    todo: 'Register anew.',
  });
}

function overloaded(): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: 'Too many log lines wait for the store.',
    todo: 'Send them again later.',
  });
}
