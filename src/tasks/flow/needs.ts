/** What one task of a flow waits for, and how that must end. */
import { didYouMean } from '../../scheduler/core/index.ts';
import type { Need } from '../../scheduler/core/index.ts';
import { type About, refuse, shown } from './fault.ts';
import { type Pointed, pointedBy } from './placeholder.ts';

/** Gathers what one task waits for. */
export class Needs {
  readonly about: About;
  readonly byTask: Map<string, Need> = new Map();
  readonly #tasks: ReadonlyMap<string, unknown>;
  readonly #refuseForeign: (pointed: Pointed) => void;

  constructor(
    about: About,
    tasks: ReadonlyMap<string, unknown>,
    refuseForeign: (pointed: Pointed) => void,
  ) {
    this.about = about;
    this.#tasks = tasks;
    this.#refuseForeign = refuseForeign;
  }

  /** A value that is used: its task must succeed, unless null is accepted instead. */
  readonly use = (pointed: Pointed): void => {
    this.#refuseForeign(pointed);
    if (pointed.task === null) return;
    const known = this.byTask.get(pointed.task) ?? false;
    this.byTask.set(pointed.task, stricter(known, NEEDS[pointed.orNull]));
  };

  add(list: unknown, field: 'after' | 'optional'): void {
    if (list === undefined) return;
    if (!Array.isArray(list)) {
      refuse(this.about, `'${field}' takes a list of tasks, not ${shown(list)}.`);
    }
    for (const each of list as readonly unknown[]) this.#addOne(each, field);
  }

  #addOne(each: unknown, field: 'after' | 'optional'): void {
    const pointed = pointedBy(each);
    if (pointed === undefined) {
      const hint = typeof each === 'string' ? didYouMean(each, this.#tasks.keys()) : '';
      refuse(
        this.about,
        `'${field}' takes what 'task' or 'map' returned, not ${shown(each)}.${hint}`,
      );
    }
    this.#refuseForeign(pointed);
    if (pointed.task === null) refuse(this.about, `'${field}' takes tasks, not the input.`);
    if (field === 'optional' && (this.byTask.get(pointed.task) ?? false) !== false) {
      refuse(
        this.about,
        `'${pointed.task}' cannot be optional: the task needs it already.`,
        'To use its result only if there is one, wrap the reference in orNullIfFailed.',
      );
    }
    if (field === 'after') this.use(pointed);
    else this.byTask.set(pointed.task, false);
  }
}

/** Which dependency the user of a reference has. */
const NEEDS: Readonly<Record<Pointed['orNull'], Need>> = {
  never: true,
  ifSkipped: 'unlessSkipped',
  ifFailed: false,
};

/** A task that is used in several ways must end as the strictest one asks. */
function stricter(one: Need, other: Need): Need {
  if (one === true || other === true) return true;
  return one === 'unlessSkipped' ? one : other;
}
