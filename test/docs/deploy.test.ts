/** The files in deploy/ fit the commands, ports and defaults that there are. No engine runs them here. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { catalogue } from '../../src/cli/catalogue.ts';
import { loadConfig } from '../../src/node/config/index.ts';
import { ROOT } from './page.ts';

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
}

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly serviceName: string;
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly command?: string; readonly stop_grace_period?: string }>
  >;
}

const text = (name: string): string => readFileSync(join(ROOT, 'deploy', name), 'utf8');
const manifests = parseAllDocuments(text('kubernetes.yaml')).map((document) => {
  expect(document.errors).toEqual([]);
  return document.toJS() as Manifest;
});
const sets = manifests.filter(({ kind }) => kind === 'StatefulSet');
const compose = parse(text('compose.yaml'), { merge: true }) as Compose;
const { node } = loadConfig({ flags: {}, folder: ROOT });

/** The options that a command line sets, by name; fails on one that the command does not have. */
async function optionsOf([name = '', ...args]: readonly string[]): Promise<
  Record<string, unknown>
> {
  const entry = catalogue.find((each) => each.name === name);
  if (entry === undefined) throw new Error(`There is no command ${name}.`);
  const cli = new Command(name).exitOverride();
  (await entry.load()).command.declare(cli);
  const { operands, unknown } = cli.parseOptions([...args]);
  expect([name, ...operands, ...unknown]).toEqual([name]);
  return cli.opts();
}

test('the commands of all containers have the options that they are given', async () => {
  expect(sets).toHaveLength(2);
  for (const { spec } of sets) {
    const [container] = spec.template.spec.containers;
    const options = await optionsOf(container.args);
    // TLS and tokens on every address that is not loopback.
    expect(options).toMatchObject({
      tokenFile: expect.stringContaining('/etc/millrace/tokens/') as string,
      tlsCert: expect.any(String) as string,
      tlsKey: expect.any(String) as string,
      tlsCa: expect.any(String) as string,
    });
    expect(options).not.toHaveProperty('insecure');
  }
  const commands = Object.values(compose.services).flatMap(({ command }) => command ?? []);
  expect(commands).toHaveLength(3);
  for (const command of commands) await optionsOf(command.split(' '));
});

test('containers have longer to drain than they take by default', () => {
  for (const { spec } of sets)
    expect(spec.template.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(node.drainMs);
  for (const { command, stop_grace_period: grace } of Object.values(compose.services))
    if (command !== undefined)
      expect(Number(grace?.replace('s', '')) * 1000).toBeGreaterThan(node.drainMs);
});

test('probes, ports, volumes and names belong together', () => {
  const services = manifests
    .filter(({ kind }) => kind === 'Service')
    .map(({ metadata }) => metadata.name);
  for (const { metadata, spec } of sets) {
    expect(services).toContain(spec.serviceName);
    const [container] = spec.template.spec.containers;
    const ports = container.ports.map(({ name }) => name);
    expect(container.livenessProbe.httpGet).toMatchObject({ path: '/healthz', scheme: 'HTTPS' });
    expect(container.readinessProbe.httpGet).toMatchObject({ path: '/readyz', scheme: 'HTTPS' });
    for (const { httpGet } of [container.livenessProbe, container.readinessProbe])
      expect(ports).toContain(httpGet.port);
    const volumes = [
      ...spec.template.spec.volumes,
      ...(spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata),
    ];
    const mounted = container.volumeMounts.map(({ name }) => name);
    expect(volumes.map(({ name }) => name).toSorted()).toEqual(mounted.toSorted());
    // Workers find the servers under the names that a stateful set gives its pods.
    const line = container.args.join(' ');
    if (metadata.name === 'millrace-worker')
      expect(line).toContain(`millrace-server-0.millrace-servers:${node.grpcPort},`);
    expect(line).toContain(`$(POD).${spec.serviceName}`);
  }
});

test('no secret is written into a manifest', () => {
  for (const { spec } of sets)
    for (const { name, value } of spec.template.spec.containers[0].env)
      expect([name, value]).toEqual([name, undefined]);
  expect(text('kubernetes.yaml')).not.toMatch(/^kind: Secret/m);
});
