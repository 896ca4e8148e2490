/**
 * Makes jobs of the rows in the inbox. In every case a row is gone afterwards: one that stays would be submitted for ever.
 * `millrace.submit` gives each an id of its own, but a row that was written by hand may have any.
 */
import { isMillraceError } from '../core/index.ts';
import type { JobId, MillraceError } from '../core/index.ts';
import type { JobReply } from '../contract/index.ts';
import type { InboxRow, Store } from '../store/index.ts';
import { checkNewJobId, isNewJobId, parsedDocument } from './checks.ts';
import type { Dispatcher } from './dispatcher.ts';
import { cleanText } from './text.ts';

export interface InboxIntake {
  readonly store: Pick<Store, 'inbox'>;
  readonly shard: number;
  readonly dispatcher: Pick<Dispatcher, 'ask'>;
  readonly submit: (
    document: unknown,
    options: { readonly jobId: JobId; readonly inboxNo: number },
  ) => Promise<JobReply>;
  /** Acts if there is no job of this id, and lets nobody make one meanwhile. */
  readonly ifNew: (jobId: JobId, act: () => Promise<unknown>) => Promise<void>;
}

/** Rows that are read at once. */
const PORTION = 100;

/** Returns how many rows were taken out. */
export async function takeInInbox(intake: InboxIntake): Promise<number> {
  let taken = 0;
  for (;;) {
    const rows = await intake.store.inbox(intake.shard, PORTION);
    if (rows.length === 0) return taken;
    await Promise.all(rows.map((row) => takeIn(intake, row)));
    taken += rows.length;
  }
}

async function takeIn(intake: InboxIntake, { no, jobId, document }: InboxRow): Promise<void> {
  try {
    checkNewJobId(jobId);
    const reply = await intake.submit(parsedDocument(document), { jobId, inboxNo: no });
    // It was there before, or another one with its key: then no event has taken the row out.
    if (!reply.changed) await drop(intake, no);
  } catch (error) {
    if (!isMillraceError(error, 'bad_input') && !isMillraceError(error, 'too_large')) throw error;
    await reject(intake, isNewJobId(jobId) ? jobId : (`inbox-${no}` as JobId), no, error);
  }
}

/** The user's transaction has long ended: a failed job is the only way to report it, if there is none of that id. */
async function reject(
  intake: InboxIntake,
  jobId: JobId,
  inboxNo: number,
  { code, message }: MillraceError,
): Promise<void> {
  const about = { jobId, name: 'inbox', error: { code, message: cleanText(message) }, inboxNo };
  let isRejected = false;
  await intake.ifNew(jobId, async () => {
    await intake.dispatcher.ask((ask) => ({ type: 'reject', ask, ...about }));
    isRejected = true;
  });
  if (!isRejected) await drop(intake, inboxNo);
}

async function drop({ dispatcher }: InboxIntake, inboxNo: number): Promise<void> {
  await dispatcher.ask((ask) => ({ type: 'dropInbox', ask, inboxNo }));
}
