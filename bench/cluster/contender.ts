/** Two systems that run no-op jobs on the same PostgreSQL, driven the same way. */
export interface Contender {
  readonly name: string;
  /** Hands in `count` jobs; settles when all are durable. */
  submit(count: number): Promise<void>;
  /** How many are not done yet. */
  left(): Promise<number>;
  /** Processes that execute jobs. */
  pauseWorkers(): void;
  resumeWorkers(): void;
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 5;

/** Seconds from the first job handed in to the last one done, with workers waiting. */
export async function fullPath(contender: Contender, count: number): Promise<number> {
  const startedAt = performance.now();
  await contender.submit(count);
  await emptied(contender);
  return (performance.now() - startedAt) / 1_000;
}

/** Seconds to work off what is queued already. */
export async function burnDown(contender: Contender, count: number): Promise<number> {
  contender.pauseWorkers();
  await contender.submit(count);
  const startedAt = performance.now();
  contender.resumeWorkers();
  await emptied(contender);
  return (performance.now() - startedAt) / 1_000;
}

async function emptied(contender: Contender): Promise<void> {
  while ((await contender.left()) > 0) {
    await new Promise((resolve) => {
      setTimeout(resolve, LOOK_EVERY_MS);
    });
  }
}
