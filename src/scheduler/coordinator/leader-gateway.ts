import { MillraceError } from '../core/index.ts';
import type { JobId, LeaderAddress } from '../core/index.ts';
import type { JobAnswer, LeaderForClients, LeaderForWorkers, NewJob } from '../contract/index.ts';
import { asFault } from './faults.ts';
import type { JobReply } from './job-service.ts';
import type { Leader } from './leader.ts';

/**
 * The door at which calls for the leader arrive, whether it sits here or not. A node that does not
 * lead says who does, so that callers can follow.
 */
export class LeaderGateway {
  readonly #nodeId: string;
  #leader: Leader | null = null;
  #elsewhere: LeaderAddress | null = null;
  /** Why nobody leads, if that is known. */
  #trouble: MillraceError | null = null;

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  /** This node leads, and serves. */
  open(leader: Leader, address: LeaderAddress): void {
    this.#leader = leader;
    this.#elsewhere = address;
    this.#trouble = null;
  }

  /** The database is away, or back again: without it nobody can begin to lead. */
  troubled(trouble: MillraceError | null): void {
    this.#trouble = trouble;
  }

  /** This node does not lead; somebody else may. */
  refer(to: LeaderAddress | null): void {
    this.#leader = null;
    // A term of our own that is over leads nowhere.
    this.#elsewhere = to?.nodeId === this.#nodeId ? null : to;
  }

  get isOpen(): boolean {
    return this.#leader !== null;
  }

  /** Who leads, as far as is known here. */
  whoLeads(): LeaderAddress | null {
    return this.#elsewhere;
  }

  /** Throws `not_leader`, with where to go. */
  leader(): Leader {
    if (this.#leader !== null) return this.#leader;
    throw notLeader(this.#nodeId, this.#elsewhere, this.#trouble);
  }

  readonly workers = (): LeaderForWorkers => this.leader().workers;

  readonly clients = (): LeaderForClients => clientService(this.leader());
}

function clientService({ jobs }: Leader): LeaderForClients {
  return {
    submit: (all) => Promise.all(all.map((job) => submitOne(jobs, job))),
    cancel: async (id, reason) => answerOf(await jobs.cancel(id, reason)),
    rerun: async (id, expectedRun) => answerOf(await jobs.rerun(id, expectedRun)),
    signal: async (id, name, body, signalId) =>
      answerOf(await jobs.signal(id, name, body, signalId)),
  };
}

async function submitOne(
  jobs: Leader['jobs'],
  { document, jobId }: NewJob,
): Promise<JobAnswer | MillraceError> {
  try {
    return answerOf(await jobs.submit(document, { jobId }));
  } catch (error) {
    return asFault(error);
  }
}

function answerOf({ jobId, state, run, changed }: JobReply): JobAnswer {
  return { id: jobId satisfies JobId, state, run, changed };
}

function notLeader(
  nodeId: string,
  leader: LeaderAddress | null,
  trouble: MillraceError | null,
): MillraceError {
  const where = leader?.url ?? leader?.grpc ?? null;
  const nobody = trouble === null ? 'Nobody leads at the moment.' : `Nobody leads: ${trouble.what}`;
  return new MillraceError({
    code: 'not_leader',
    what: `Node ${nodeId} does not lead.`,
    why: leader === null ? nobody : `${leader.nodeId} leads.`,
    todo: where === null ? 'Ask again in a moment.' : `Ask ${where}.`,
    ...(leader === null ? {} : { leader }),
  });
}
