/** Broken on purpose: of two attempts at the same time more than one counts, or they run in the same place. */
import type { NodeId } from '../../src/scheduler/core/index.ts';
import type { Leader } from '../../src/scheduler/coordinator/index.ts';
import type { Session, WorkerReport } from '../../src/scheduler/contract/index.ts';
import type { RunOptions } from './run.ts';
import { onCommit, patch } from './sabotage.ts';
import type { Variant } from './sabotage.ts';
import type { Sabotage } from './simulation.ts';

/** The attempt that lost is logged as one that has succeeded as well. */
const twoResultsStored: Sabotage = onCommit((batch) => ({
  ...batch,
  events: batch.events.flatMap((event, at) => {
    const next = batch.events[at + 1];
    const hasLost = event.kind === 'discarded' && next?.kind === 'completed';
    return [hasLost ? { ...event, kind: 'completed' as const } : event];
  }),
}));

/** The worker that was slower hears that its result counts. */
const twoResultsAccepted: Sabotage = {
  leader: ({ workers }: Leader) => {
    const report = workers.report.bind(workers);
    patch(workers, 'report', async (session: Session, items: readonly WorkerReport[]) => {
      const reply = await report(session, items);
      const verdicts = reply.verdicts.map((verdict, at) =>
        verdict === 'lost' && items[at]?.kind === 'completed' ? 'ok' : verdict,
      );
      return { ...reply, verdicts };
    });
  },
};

/** The second attempt is logged for the node that has the first. */
const duplicateAtHome: Sabotage = onCommit((batch) => ({
  ...batch,
  events: batch.events.map((event) => {
    if (event.kind !== 'duplicated' || event.detail === null) return event;
    const { of } = JSON.parse(event.detail) as { readonly of: NodeId };
    return { ...event, nodeId: of };
  }),
}));

/** Queries whose fragments take anything between a moment and seconds, on workers with room. */
export const manyStragglers: NonNullable<RunOptions['change']> = (drawn) => ({
  ...drawn,
  workers: 5,
  words: { ...drawn.words, queryRate: 1 },
  settings: { ...drawn.settings, stragglerFactor: 1, stragglerMinMs: 50 },
  handlers: { ...drawn.handlers, usualMs: 1_000, failRate: 0, fatalRate: 0, badResultRate: 0 },
});

export const STRAGGLER_VARIANTS: readonly Variant[] = [
  {
    name: 'two results stored',
    caughtBy: 'one result',
    sabotage: twoResultsStored,
    change: manyStragglers,
  },
  {
    name: 'two results accepted',
    caughtBy: 'one result',
    sabotage: twoResultsAccepted,
    change: manyStragglers,
  },
  {
    name: 'duplicate on the same node',
    caughtBy: 'two leases',
    sabotage: duplicateAtHome,
    change: manyStragglers,
  },
];
