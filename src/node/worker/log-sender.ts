/**
 * Sends what tasks print to the leader, many lines at a time and one call at a time. Reports never wait for it. Lines
 * that cannot be sent are kept and sent again, up to a limit: beyond it new ones are dropped, and their number is reported.
 */
import { isMillraceError } from '../../scheduler/core/index.ts';
import { Backoff, SecretRedactor, deferred, sleepOrAbort } from '../../kit/index.ts';
import type { Clock, Deferred } from '../../kit/index.ts';
import type { LogLevel, TaskLogLine } from '../../scheduler/contract/index.ts';
import type { OutputStream } from '../../tasks/executors/index.ts';
import type { Attempt } from './attempt.ts';

export interface LogSenderOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Throws while there is no session. */
  readonly send: (lines: readonly TaskLogLine[]) => Promise<void>;
  readonly redactor?: SecretRedactor;
}

/** Long enough to gather lines, short enough to follow them live. */
const GATHER_MS = 200;
const LINES_PER_CALL = 1_000;
const CHARS_PER_CALL = 1024 * 1024;
/** All that may wait to be sent. */
const LINES_MAX = 20_000;
const CHARS_MAX = 8 * 1024 * 1024;
/** Of one attempt; the leader has a limit of its own for the task. */
const ATTEMPT_CHARS_MAX = 1024 * 1024;
const MESSAGE_CHARS_MAX = 8_192;
const FIELDS_CHARS_MAX = 8_192;

export interface CleanLine {
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

export class LogSender {
  readonly #options: LogSenderOptions;
  readonly #redactor: SecretRedactor;
  readonly #backoff: Backoff;
  readonly #sizes: WeakMap<Attempt, { chars: number }> = new WeakMap();
  readonly #life = new AbortController();
  #lines: TaskLogLine[] = [];
  #chars = 0;
  #dropped = 0;
  #sending: Deferred<void> | null = null;
  #isUrgent = new AbortController();

  constructor(options: LogSenderOptions) {
    this.#options = options;
    this.#redactor = options.redactor ?? SecretRedactor.ofEnvironment(process.env);
    this.#backoff = new Backoff({ firstMs: GATHER_MS, maxMs: 5_000 }, options.random);
  }

  /** Returns the line without secrets, for whoever shows it elsewhere, also if no more of the attempt is kept. */
  add(attempt: Attempt, level: LogLevel, message: string, fields?: unknown): CleanLine {
    const text = this.#redactor.text(shortened(message));
    const json = fields === undefined ? null : this.#fieldsText(fields);
    this.#keep(attempt, level, text, json);
    return { text, fields: json === null ? undefined : (JSON.parse(json) as CleanLine['fields']) };
  }

  #keep(attempt: Attempt, level: LogLevel, text: string, json: string | null): void {
    if (this.#life.signal.aborted) return;
    const size = this.#sizes.get(attempt) ?? { chars: 0 };
    this.#sizes.set(attempt, size);
    if (size.chars > ATTEMPT_CHARS_MAX) return;
    const chars = text.length + (json?.length ?? 0) + 64;
    size.chars += chars;
    const isLast = size.chars > ATTEMPT_CHARS_MAX;
    const { jobId, taskId, attempt: no } = attempt.assignment;
    const about = { jobId, taskId, attempt: no, at: attempt.nowMs };
    this.#push(
      isLast
        ? { ...about, level: 'warn', message: TOO_MUCH, fields: null }
        : { ...about, level, message: text, fields: json },
      chars,
    );
  }

  /** A process or thread of the handler has printed a line. */
  output(attempt: Attempt, stream: OutputStream, line: string): void {
    // It is shown nowhere else: what is not kept need not be looked at.
    if ((this.#sizes.get(attempt)?.chars ?? 0) > ATTEMPT_CHARS_MAX) return;
    this.add(attempt, stream === 'stderr' ? 'warn' : 'info', line, { stream });
  }

  /** An attempt has ended: whoever waits for its job wants its lines. */
  hurry(): void {
    // An abort makes an error with a stack first, also for a signal that has aborted: a task costs less.
    if (!this.#isUrgent.signal.aborted) this.#isUrgent.abort();
  }

  /** Resolves when all is sent, or when the time has passed. */
  async flush(withinMs: number): Promise<void> {
    this.hurry();
    if (this.#sending === null) return;
    const over = deferred();
    const cancel = this.#options.clock.after(withinMs, () => over.resolve());
    await Promise.race([this.#sending.promise, over.promise]);
    cancel();
  }

  stop(): void {
    this.#life.abort();
  }

  #push(line: TaskLogLine, chars: number): void {
    if (this.#lines.length >= LINES_MAX || this.#chars + chars > CHARS_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#lines.push(line);
    this.#chars += chars;
    if (this.#sending !== null) return;
    const sending = deferred();
    this.#sending = sending;
    void this.#sendAll().finally(() => {
      this.#sending = null;
      sending.resolve();
    });
  }

  async #sendAll(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#life;
    this.#isUrgent = new AbortController();
    await sleepOrAbort(clock, GATHER_MS, AbortSignal.any([signal, this.#isUrgent.signal]));
    while (this.#lines.length > 0 && !signal.aborted) {
      const portion = this.#portion();
      try {
        await this.#options.send(portion);
        this.#backoff.reset();
        this.#sent(portion);
      } catch (error) {
        // A leader of an older version, or one that finds fault with the lines: the next ones may be better.
        if (isMillraceError(error, 'unimplemented') || isMillraceError(error, 'bad_input')) {
          this.#sent(portion);
        } else await sleepOrAbort(clock, this.#backoff.nextMs(), signal);
      }
    }
  }

  #portion(): readonly TaskLogLine[] {
    let chars = 0;
    const end = this.#lines.findIndex((line, index) => {
      chars += line.message.length + (line.fields?.length ?? 0);
      return index > 0 && (index >= LINES_PER_CALL || chars > CHARS_PER_CALL);
    });
    return end === -1 ? [...this.#lines] : this.#lines.slice(0, end);
  }

  #sent(portion: readonly TaskLogLine[]): void {
    this.#lines = this.#lines.slice(portion.length);
    this.#chars = this.#lines.reduce(
      (sum, { message, fields }) => sum + message.length + (fields?.length ?? 0) + 64,
      0,
    );
    const last = portion.at(-1);
    if (this.#dropped === 0 || last === undefined) return;
    const message = `${this.#dropped} log lines of this worker were dropped: they could not be sent in time.`;
    this.#dropped = 0;
    this.#lines.push({ ...last, level: 'warn', message, fields: null });
  }

  #fieldsText(fields: unknown): string | null {
    try {
      const text = JSON.stringify(this.#redactor.json(JSON.parse(JSON.stringify(fields))));
      if (text.length > FIELDS_CHARS_MAX) return '{"omitted":"the fields are too large"}';
      return text.startsWith('{') ? text : JSON.stringify({ value: JSON.parse(text) as unknown });
    } catch {
      return null;
    }
  }
}

const TOO_MUCH = 'This attempt has printed more than is kept of it; further lines are dropped.';

function shortened(message: string): string {
  const over = message.length - MESSAGE_CHARS_MAX;
  return over <= 0
    ? message
    : `${message.slice(0, MESSAGE_CHARS_MAX)} [${over} characters omitted]`;
}
