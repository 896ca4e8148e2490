/** Systems that run no-op jobs, driven the same way. */
export interface Contender {
  readonly name: string;
  /** Process ids by what they do, beside the database's own. */
  readonly processes: Readonly<Record<string, readonly number[]>>;
  /** Submits `count` jobs; settles when all are durable. */
  submit(count: number): Promise<void>;
  /** How often it may be asked whether it is done, where that costs it something. */
  readonly lookEveryMs?: number;
  /** Whether all that was submitted is done. */
  isDone(): Promise<boolean>;
  /** Processes that execute jobs. */
  pauseWorkers(): void;
  resumeWorkers(): void;
  /** Throws unless exactly this many jobs were done, each of them once. */
  audit(submitted: number): Promise<void>;
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 5;

/** Seconds from the first job submitted to the last one done, with workers waiting. */
export async function fullPath(contender: Contender, count: number): Promise<number> {
  const startedAt = performance.now();
  await contender.submit(count);
  await done(contender);
  return (performance.now() - startedAt) / 1_000;
}

/** Seconds to work off what is queued already. */
export async function burnDown(contender: Contender, count: number): Promise<number> {
  contender.pauseWorkers();
  await contender.submit(count);
  const startedAt = performance.now();
  contender.resumeWorkers();
  await done(contender);
  return (performance.now() - startedAt) / 1_000;
}

async function done(contender: Contender): Promise<void> {
  while (!(await contender.isDone())) {
    await pause(contender.lookEveryMs ?? LOOK_EVERY_MS);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Jobs submitted with one call, and calls at the same time: the same for everybody. */
const BATCH = 500;
const IN_FLIGHT = 2;

/** Calls `send` with sizes of batches that make up `count`. */
export async function inBatches(
  count: number,
  send: (size: number) => Promise<unknown>,
): Promise<void> {
  let sent = 0;
  const pump = async (): Promise<void> => {
    while (sent < count) {
      const size = Math.min(BATCH, count - sent);
      sent += size;
      await send(size);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, pump));
}

/** Throws when a count is not what it has to be. */
export function expectCount(what: string, seen: unknown, wanted: number): void {
  if (Number(seen) === wanted) return;
  throw new Error(`The audit failed: ${String(seen)} ${what}, there should be ${wanted}.`);
}
