/** Span attributes of built-in executors. Numbers and short names only: no payloads. */
import type { TaskContext } from './executor.ts';

export interface Annotated {
  readonly annotate: (attributes: Readonly<Record<string, string | number>>) => void;
}

/** Does nothing where nothing is traced. */
export function annotate(
  context: TaskContext & Partial<Annotated>,
  attributes: Readonly<Record<string, string | number>>,
): void {
  context.annotate?.(attributes);
}
