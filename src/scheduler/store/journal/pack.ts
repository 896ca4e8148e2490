/**
 * A batch as text, for the journal: JSON that names its fields, without the lists that are empty. A later version reads
 * what this one wrote: a field that came later gets its default here, and anything else needs a new format number.
 */
import { type Batch, batchOf, invariant } from '../../core/index.ts';

const FORMAT = 1;

type Packed = Partial<Batch> & Pick<Batch, 'commitNo' | 'lastSeq' | 'nextJobNo'>;

export function packBatch(batch: Batch): string {
  const parts = Object.entries(batch).filter(([, part]) => !Array.isArray(part) || part.length > 0);
  return JSON.stringify({ format: FORMAT, ...Object.fromEntries(parts) });
}

export function unpackBatch(body: string): Batch {
  const { format, ...packed } = JSON.parse(body) as Packed & { readonly format: number };
  invariant(format === FORMAT, `a journal record has the format ${format}`);
  return batchOf(packed);
}
