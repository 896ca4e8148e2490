/** The hot calls of a runtime without a network: submitting jobs, and waiting for them to end. */
import { uuidv7 } from 'uuidv7';
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { JobId, Json, MillraceError } from '../../scheduler/core/index.ts';
import type { LocalJobs } from '../../edge/local/index.ts';
import { backoffMs, sleep } from '../../kit/index.ts';
import type { DatedJob, Submitted } from '../answers.ts';
import { isPassing } from '../calls/caller.ts';
import type { SubmitCall } from '../http-client.ts';
import { BACKOFF } from '../options.ts';
import type { CallOptions, Pace } from '../options.ts';
import { submitPortions } from '../submit-many.ts';
import { nameIn, traced } from '../submit-span.ts';

type Limited<T> = T & { readonly signal: AbortSignal };

export class LocalCalls {
  readonly #jobs: LocalJobs;
  readonly #pace: Pace;

  constructor(jobs: LocalJobs, pace: Pace) {
    this.#jobs = jobs;
    this.#pace = pace;
  }

  submit(document: unknown, options: Limited<SubmitCall>): Promise<Submitted> {
    const { signal } = options;
    const jobId = (options.jobId ?? uuidv7()) as JobId;
    const text = textOf(document);
    return traced(nameIn(document), jobId, (trace) =>
      this.#untilAnswered(options, async (isRepeated) => {
        const answer = await this.#jobs.submit({ jobId, text, trace }, signal);
        // A second try that finds the job may have found what the first one made.
        const isOurs = isRepeated && options.jobId === undefined && answer.id === jobId;
        return { ...answer, isNew: answer.isNew || isOurs };
      }),
    );
  }

  submitAll(
    documents: readonly unknown[],
    options: Limited<CallOptions>,
  ): Promise<readonly (Submitted | MillraceError)[]> {
    const { signal } = options;
    const send = (texts: readonly string[], id: string) =>
      traced('list', id, (trace) =>
        this.#untilAnswered(options, async () => {
          const answers = await this.#jobs.submitAll({ id: id as JobId, texts, trace }, signal);
          return answers.map((answer, at) =>
            isMillraceError(answer) ? answer : { ...answer, isNew: answer.id === `${id}.${at}` },
          );
        }),
      );
    return submitPortions(send, this.#pace, documents, options);
  }

  async ended(id: JobId, options: Limited<CallOptions>): Promise<DatedJob> {
    const text = await this.#untilAnswered(options, () => this.#jobs.ended(id, options.signal));
    return JSON.parse(text) as DatedJob;
  }

  /** The result of a job that has succeeded, or the job that has not. Thousands are waited for at the same time. */
  result(
    id: JobId,
    options: Limited<CallOptions>,
  ): Promise<{ readonly result: Json } | { readonly job: DatedJob }> {
    const { signal } = options;
    const ask = () => this.#jobs.result(id, signal);
    return this.#untilAnswered(options, ask).then((answer) =>
      typeof answer === 'string'
        ? { result: JSON.parse(answer) as Json }
        : { job: JSON.parse(answer.job) as DatedJob },
    );
  }

  /** What is refused for the moment is asked again, a little later. */
  #untilAnswered<T>(
    options: Limited<CallOptions>,
    ask: (isRepeated: boolean) => Promise<T>,
  ): Promise<T> {
    const sinceMs = this.#pace.clock.monotonicMs();
    return ask(false).catch((error: unknown) => this.#askAgain(options, ask, sinceMs, error));
  }

  async #askAgain<T>(
    { signal, retriesForever = false }: Limited<CallOptions>,
    ask: (isRepeated: boolean) => Promise<T>,
    sinceMs: number,
    refused: unknown,
  ): Promise<T> {
    const { clock, random, retryBudgetMs } = this.#pace;
    const untilMs = sinceMs + (retriesForever ? Infinity : retryBudgetMs);
    let why = refused;
    for (let tries = 1; ; tries += 1) {
      if (signal.aborted || !isMillraceError(why) || !isPassing(why)) throw why;
      const delayMs = backoffMs(BACKOFF, tries, random);
      if (clock.monotonicMs() + delayMs > untilMs) throw why;
      await sleep(clock, delayMs, signal);
      try {
        return await ask(true);
      } catch (error) {
        why = error;
      }
    }
  }
}

/** As it would stand in the body of a request. */
function textOf(document: unknown): string {
  return JSON.stringify(document) ?? 'null';
}
