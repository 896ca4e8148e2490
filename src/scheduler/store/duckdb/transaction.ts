/** All or nothing, with a reliable answer which of the two it was. */
import { refused, unknownOutcome } from './failure.ts';
import type { Session } from './session.ts';

export async function inTransaction<T>(session: Session, change: () => Promise<T>): Promise<T> {
  await session.run('begin').catch((cause: unknown) => {
    throw refused(cause);
  });
  const answer = await change().catch(async (cause: unknown) => {
    // A failed rollback must not hide why it was needed; the next `begin` tells of it.
    await session.run('rollback').catch(() => {});
    throw refused(cause);
  });
  await session.run('commit').catch(async (cause: unknown) => {
    await session.run('rollback').catch(() => {});
    throw unknownOutcome(cause);
  });
  return answer;
}
