/** Producer by partition: who has written how much for whom. */
import type { JSX } from 'preact';
import { bytes, count, plural } from '../../words.ts';
import { type Producer, rowsPerPartition } from './shuffle.ts';

const PRODUCERS_MAX = 48;
const PARTITIONS_MAX = 32;

export function ShuffleMatrix({
  stage,
  producers,
}: {
  readonly stage: number;
  readonly producers: readonly Producer[];
}): JSX.Element | null {
  const totals = rowsPerPartition(producers);
  if (totals.length < 2) return null;
  const shown = producers.slice(0, PRODUCERS_MAX);
  const partitions = totals.slice(0, PARTITIONS_MAX);
  const max = Math.max(1, ...producers.flatMap(({ cells }) => cells.map((cell) => cell.bytes)));
  const hidden = [
    ...(producers.length > PRODUCERS_MAX
      ? [plural(producers.length - PRODUCERS_MAX, 'more producer')]
      : []),
    ...(totals.length > PARTITIONS_MAX
      ? [plural(totals.length - PARTITIONS_MAX, 'more partition')]
      : []),
  ];
  return (
    <details class="shuffle">
      <summary>
        Shuffle: {plural(producers.length, 'producer')} × {plural(totals.length, 'partition')}
      </summary>
      <div class="table-box" role="group" tabIndex={0} aria-label={`Shuffle of stage ${stage}`}>
        <table class="shuffle-matrix num">
          <thead>
            <tr>
              <th scope="col">Producer</th>
              {partitions.map((_, at) => (
                <th key={at} scope="col" class="right">
                  {at}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((producer) => (
              <ProducerRow
                key={producer.task}
                producer={producer}
                count={partitions.length}
                max={max}
              />
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Rows</th>
              {partitions.map((rows, at) => (
                <td key={at} class="right">
                  {count(rows)}
                </td>
              ))}
            </tr>
          </tfoot>
        </table>
      </div>
      {hidden.length > 0 && <p class="muted">{hidden.join(' and ')} not shown.</p>}
    </details>
  );
}

function ProducerRow({
  producer: { task, node, cells },
  count: partitions,
  max,
}: {
  readonly producer: Producer;
  readonly count: number;
  readonly max: number;
}): JSX.Element {
  return (
    <tr>
      <th scope="row">
        {task} <span class="muted">{node}</span>
      </th>
      {Array.from({ length: partitions }, (_, at) => {
        const cell = cells[at] ?? { rows: 0, bytes: 0 };
        return (
          <td
            key={at}
            class="right"
            style={{ '--share': (cell.bytes / max).toFixed(3) }}
            title={`${task} to partition ${at}: ${plural(cell.rows, 'row')}, ${bytes(cell.bytes)}`}
          >
            {cell.rows === 0 ? '–' : bytes(cell.bytes)}
          </td>
        );
      })}
    </tr>
  );
}
