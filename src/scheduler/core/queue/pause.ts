/**
 * A queue that an operator has paused: the tasks of one executor, or those with a limit of one key. Nothing of it is
 * started until it is resumed; what runs goes on.
 *
 * A pause is stored as a row beside those of limits, whose fields it has as well: a leader of an earlier version reads
 * such a row as a rate that has started nothing.
 */
import { momentText } from '../document/moment.ts';
import { Fields } from '../document/reader.ts';
import { refuse } from '../document/refuse.ts';
import type { Instant } from '../ids.ts';
import { instant } from '../ids.ts';
import type { LimitRow } from '../rows.ts';

export interface PauseTarget {
  readonly kind: 'executor' | 'key';
  readonly name: string;
}

export interface Pause extends PauseTarget {
  readonly since: Instant;
  readonly reason: string | null;
}

/** Each is one row and one look at the nodes; nobody pauses that many by hand. */
export const PAUSES_MAX = 1_000;

const PREFIX = 'pause/';

export function pauseId({ kind, name }: PauseTarget): string {
  return `${PREFIX}${kind}/${name}`;
}

export function isPauseRow({ id }: LimitRow): boolean {
  return id.startsWith(PREFIX);
}

export function pauseRow(pause: Pause): LimitRow {
  const asLimit = { key: pause.name, max: 1, perMs: 1, starts: [] };
  return { id: pauseId(pause), state: JSON.stringify({ ...asLimit, pause }) };
}

export function pauseFromRow({ state }: LimitRow): Pause {
  const { pause } = JSON.parse(state) as { readonly pause: Pause };
  return { ...pause, since: instant(pause.since) };
}

export function pausedText({ kind, name, since, reason }: Pause): string {
  const what = kind === 'executor' ? `executor ${name}` : `key ${name}`;
  const why = reason === null ? '' : `: ${reason}`;
  return `${what} has been paused since ${momentText(since)}${why}`;
}

const TARGET = { names: new Set(['executor', 'key']) };
const WITH_REASON = { names: new Set(['executor', 'key', 'reason']) };

/** Reads a request of unknown origin: `{executor}` or `{key}`. */
export function parsePauseTarget(value: unknown): PauseTarget {
  return readTarget(Fields.of(value, '', 'A queue', TARGET));
}

/** The same with a `reason`. */
export function parsePause(
  value: unknown,
): Pick<Pause, 'reason'> & { readonly target: PauseTarget } {
  const fields = Fields.of(value, '', 'A pause', WITH_REASON);
  return { target: readTarget(fields), reason: fields.name('reason') ?? null };
}

function readTarget(fields: Fields): PauseTarget {
  const [executor, key] = [fields.name('executor'), fields.name('key')];
  if (executor !== undefined && key !== undefined) {
    refuse(
      fields.at('key'),
      'A queue has an executor or a key, not both.',
      'Pause one after the other.',
    );
  }
  if (executor !== undefined) return { kind: 'executor', name: executor };
  if (key !== undefined) return { kind: 'key', name: key };
  return fields.missing('executor', 'Name the executor, or the key of a limit.');
}
