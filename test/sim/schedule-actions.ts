/** What a client does with schedules: puts, changes, declares and backfills them. */
import type { ChangeSchedule, ScheduleId } from '../../src/scheduler/core/index.ts';
import type { Leader } from '../../src/scheduler/coordinator/index.ts';
import { draftDeclared } from './declared-schedules.ts';
import { draftJob } from './documents.ts';
import type { Vocabulary } from './documents.ts';
import type { Random } from './random.ts';
import type { Witness } from './witness.ts';
import type { World } from './world.ts';

interface Dice {
  readonly random: Random;
  readonly declare: Random;
}

interface Around {
  readonly world: World;
  readonly witness: Witness;
  readonly words: Vocabulary;
}

type Retried = (what: string, act: (leader: Leader) => Promise<unknown>) => Promise<unknown>;

export async function actOnSchedules(dice: Dice, around: Around, retried: Retried): Promise<void> {
  const { random } = dice;
  const { world, witness, words } = around;
  const known = [...witness.schedules];
  if (dice.declare.chance(0.25)) return declare(dice.declare, around, retried);
  if (known.length > 0 && dice.declare.chance(0.1)) {
    const id = dice.declare.pick(known) as ScheduleId;
    const from = world.databaseNow() - dice.declare.whole(0, 20_000);
    await retried('backfill', (leader) => leader.schedules.backfill(id, { from }));
    return;
  }
  if (known.length > 0 && random.chance(0.6)) {
    const id = random.pick(known) as ScheduleId;
    const changes: ChangeSchedule['change'][] = ['pause', 'resume', 'trigger', 'delete'];
    const drawn = random.pick(changes);
    // A put that is repeated after somebody's delete makes the schedule anew, with all its times.
    const change = drawn === 'delete' && witness.putting.has(id) ? 'pause' : drawn;
    await retried(change, (leader) => leader.schedules.change(id, change));
    return;
  }
  const id = `sch${random.whole(1, 4)}` as ScheduleId;
  const spec = {
    timing: timing(random, world),
    misfire: random.pick(['skip', 'once', 'all']),
    overlap: random.pick(['skip', 'queue', 'cancel']),
    document: draftJob(random, { ...words, tasksMax: 3, keyRate: 0, debounceRate: 0 }),
  };
  witness.schedules.add(id);
  witness.putting.add(id);
  await retried('put', (leader) => leader.schedules.put(id, spec));
  witness.putting.delete(id);
}

async function declare(
  random: Random,
  { witness, words }: Around,
  retried: Retried,
): Promise<void> {
  const { flow, schedules } = draftDeclared(random, words);
  for (const { id } of schedules)
    for (const set of [witness.schedules, witness.putting]) set.add(id);
  await retried('declare', (leader) => leader.schedules.declare(flow, schedules));
  for (const { id } of schedules) witness.putting.delete(id);
}

function timing(random: Random, world: World): Record<string, unknown> {
  const kind = random.whole(0, 3);
  if (kind === 0) return { cron: '*/7 * * * * *', zone: 'Europe/Berlin' };
  if (kind === 1) return { at: world.databaseNow() + random.whole(-5_000, 20_000) };
  return { everyMs: random.whole(1_000, 15_000) };
}
