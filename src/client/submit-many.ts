/** Submits many jobs at once, in portions that a server accepts. */
import { uuidv7 } from 'uuidv7';
import { type MillraceError, isMillraceError, isObject } from '../scheduler/core/index.ts';
import type { Submitted } from './answers.ts';
import { type Caller, isPassing } from './calls/caller.ts';
import { backoffMs, sleep } from '../kit/index.ts';
import { BACKOFF, type CallOptions, type Pace } from './options.ts';
import { errorFrom, parsedJson, strangeAnswer } from './calls/problem.ts';
import { traced } from './submit-span.ts';

/** What a server takes in one list. */
const JOBS_MAX = 1_000;
/** Of a list that was taken in part. */
const TRIES_MAX = 8;
/** Half of what a server takes; a single document may be larger and then goes alone. */
const CHARS_MAX = 8 * 1024 * 1024;

/** Sends one list, whose jobs get the id with `.0`, `.1` and so on behind it. */
export type SendPortion = (
  texts: readonly string[],
  id: string,
  signal: AbortSignal | undefined,
) => Promise<readonly (Submitted | MillraceError)[]>;

export async function submitPortions(
  send: SendPortion,
  pace: Pace,
  documents: readonly unknown[],
  { signal }: CallOptions,
): Promise<readonly (Submitted | MillraceError)[]> {
  const answers: (Submitted | MillraceError)[] = [];
  for (const portion of portionsOf(documents)) {
    try {
      answers.push(...(await submitPortion(send, pace, portion, signal)));
    } catch (error) {
      // Some are in already: the caller has to learn their ids, so the rest is refused one by one.
      if (answers.length === 0 || !isMillraceError(error)) throw error;
      while (answers.length < documents.length) answers.push(error);
      return answers;
    }
  }
  return answers;
}

/** When the leader goes, or has too much to do, in the midst of a list the rest is refused for now: then all of it is
 * sent again, a little later. */
async function submitPortion(
  send: SendPortion,
  pace: Pace,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly (Submitted | MillraceError)[]> {
  const id = uuidv7();
  for (let tries = 1; ; tries += 1) {
    const answers = await send(texts, id, signal);
    const isWhole = !answers.some((answer) => isMillraceError(answer) && isPassing(answer));
    if (isWhole || tries === TRIES_MAX) return answers;
    await sleep(pace.clock, backoffMs(BACKOFF, tries, pace.random), signal);
  }
}

export async function sendPortion(
  caller: Caller,
  texts: readonly string[],
  id: string,
  signal: AbortSignal | undefined,
): Promise<readonly (Submitted | MillraceError)[]> {
  const { body, status, server } = await traced('list', id, (headers) =>
    caller.call({
      method: 'POST',
      path: '/api/v1/jobs',
      // Each job gets this id with its place in the list behind it.
      headers: { ...headers, 'millrace-job-id': id },
      body: `[${texts.join(',')}]`,
      isRepeatable: true,
      what: 'the submission',
      signal,
    }),
  );
  const list = parsedJson(body);
  if (!Array.isArray(list) || list.length !== texts.length) throw strangeAnswer(status, server);
  return list.map((item: unknown, at) => {
    if (!isObject(item)) throw strangeAnswer(status, server);
    const { id: jobId, state } = item as unknown as Submitted;
    if (typeof jobId === 'string') return { id: jobId, state, isNew: jobId === `${id}.${at}` };
    return errorFrom(isObject(item['error']) ? item['error'] : item, status);
  });
}

export function* portionsOf(documents: readonly unknown[]): Generator<readonly string[]> {
  let portion: string[] = [];
  let chars = 0;
  for (const document of documents) {
    const text = JSON.stringify(document) ?? 'null';
    if (portion.length === JOBS_MAX || (portion.length > 0 && chars + text.length > CHARS_MAX)) {
      yield portion;
      portion = [];
      chars = 0;
    }
    portion.push(text);
    chars += text.length;
  }
  if (portion.length > 0) yield portion;
}
