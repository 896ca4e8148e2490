/** Signals come from outside: with a schema, one that does not fit is left aside and the wait goes on. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { SignalShape } from '../../scheduler/core/index.ts';
import type { EventOptions, WaitOptions } from './executor.ts';
import { signalShapeOf } from './signal-shape.ts';

/** One signal, unchecked. `nth` counts those of one wait: each leaves a step of its own. */
export interface OneSignal extends Omit<WaitOptions, 'schema'> {
  readonly nth?: number;
  /** What is known of the schema, for senders. */
  readonly shape?: SignalShape;
}

/** One event, unchecked. */
export interface OneEvent extends Omit<EventOptions, 'schema'>, Pick<OneSignal, 'nth' | 'shape'> {}

/** A mistyped answer must not end a flow that has waited for three days. An ignored signal is ignored in every later
 * attempt as well, because the schema is applied again. */
export async function matchingSignal<Options extends WaitOptions | EventOptions>(
  next: (options: Omit<Options, 'schema'> & Pick<OneSignal, 'nth' | 'shape'>) => Promise<unknown>,
  { schema, ...options }: Options,
  leftAside: (why: string, nth: number) => Promise<void>,
): Promise<unknown> {
  if (schema === undefined) return next(options);
  const shape = signalShapeOf(schema);
  for (let nth = 1; ; nth += 1) {
    const value = await next({ ...options, nth, ...(shape === undefined ? {} : { shape }) });
    // A signal is JSON, so this is the end of the time.
    if (value === undefined) return undefined;
    const checked = await schema['~standard'].validate(value);
    if (checked.issues === undefined) return checked.value;
    await leftAside(checked.issues.map(shown).join('; '), nth);
  }
}

function shown({ message, path = [] }: StandardSchemaV1.Issue): string {
  const at = path.map((each) => `/${String(typeof each === 'object' ? each.key : each)}`).join('');
  return at === '' ? message : `${at}: ${message}`;
}
