/** What a node is and offers: its machine in a line, then what its owner says of it. */
import type { JSX } from 'preact';
import type { NodeShape } from '../../src/scheduler/contract/index.ts';
import type { Json } from '../../src/scheduler/core/index.ts';
import { Ago } from '../parts/marks.tsx';
import { bytes, now, plural, roughly } from '../words.ts';

/** What has a place of its own, or says nothing to people. */
const OWN_PLACE = new Set([
  'slots',
  'prefetch',
  'pressure',
  'process',
  'millrace_version',
  'cpu_cores',
  'memory_bytes',
  'os',
  'arch',
  'node_version',
  'duckdb',
]);

export function NodeFacts({ node }: { readonly node: NodeShape }): JSX.Element {
  const { capabilities, figures } = node;
  // A flow has a row of its own, with the capabilities.
  const plain = node.executors.filter((name) => !/^(operator|flow):/.test(name));
  const operators = node.executors.flatMap((name) =>
    name.startsWith('operator:') ? [name.slice('operator:'.length)] : [],
  );
  const others = Object.entries(capabilities).filter(([name]) => !OWN_PLACE.has(name));
  const lists = others.filter(([, value]) => Array.isArray(value));
  const marks = others.filter(([, value]) => !Array.isArray(value));
  return (
    <>
      <p class="machine">{machineOf(capabilities).join(' · ')}</p>
      <dl class="pairs">
        <dt>Heard</dt>
        <dd>
          <Ago at={node.seenAt} />
          <span class="muted">
            , up for {roughly(Math.max(0, now.value - Date.parse(node.registeredAt)))}
          </span>
        </dd>
        <dt>Millrace</dt>
        <dd>
          {node.version}
          {node.address !== null && <span class="muted"> at {node.address}</span>}
        </dd>
        {figures !== null && (
          <>
            <dt>Memory</dt>
            <dd>{bytes(figures.residentBytes)} in use</dd>
            <dt>Shuffle disk</dt>
            <dd>
              {bytes(figures.shuffleBytes)} in use
              {figures.diskFreeBytes > 0 && (
                <span class="muted">, {bytes(figures.diskFreeBytes)} free</span>
              )}
            </dd>
          </>
        )}
        {operators.length > 0 && <Row name="operators" value={operators} />}
        {lists.map(([name, value]) => (
          <Row key={name} name={name} value={value} />
        ))}
        {marks.length > 0 && (
          <>
            <dt>Offers</dt>
            <dd class="tags">
              {marks.map(([name, value]) => (
                <span key={name} class="tag mono">
                  {name}={textOf(name, value)}
                </span>
              ))}
            </dd>
          </>
        )}
      </dl>
      <details class="executors">
        <summary>{plural(plain.length, 'executor')}</summary>
        <p class="tags">
          {plain.map((name) => (
            <span key={name} class="tag">
              {name}
            </span>
          ))}
        </p>
      </details>
    </>
  );
}

/** `2 cores · 25 GB · linux x64 · Node.js 20.20.2 · DuckDB v1.5.6`. */
function machineOf(capabilities: NodeShape['capabilities']): readonly string[] {
  const { cpu_cores: cores, memory_bytes: memory, os, arch, node_version: node } = capabilities;
  const { duckdb } = capabilities;
  return [
    ...(typeof cores === 'number' ? [plural(cores, 'core')] : []),
    ...(typeof memory === 'number' ? [bytes(memory)] : []),
    ...(typeof os === 'string' ? [`${os} ${typeof arch === 'string' ? arch : ''}`.trim()] : []),
    ...(typeof node === 'string' ? [`Node.js ${node}`] : []),
    ...(typeof duckdb === 'string' ? [`DuckDB ${duckdb}`] : []),
  ];
}

function Row({ name, value }: { readonly name: string; readonly value: Json }): JSX.Element {
  const parts = Array.isArray(value) ? (value as readonly Json[]) : [value];
  return (
    <>
      <dt>{name.charAt(0).toUpperCase() + name.slice(1)}</dt>
      <dd class="wrap">
        {parts.length === 0 ? (
          <span class="none">none</span>
        ) : (
          // The version of a flow is a hash, which tells a person nothing.
          parts.map((part) => textOf(name, part).replace(/@[0-9a-f]{8,}$/, '')).join(', ')
        )}
      </dd>
    </>
  );
}

function textOf(name: string, value: Json): string {
  if (typeof value === 'number' && /bytes$/i.test(name)) return bytes(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
