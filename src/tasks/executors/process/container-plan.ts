/** The input of `container`, checked and turned into arguments. */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import type { Json } from '../../../scheduler/core/index.ts';
import type { TaskContext } from '../executor.ts';
import { TaskFailure } from '../failure.ts';
import { Fields } from '../fields.ts';
import type { ChildPlan } from './child.ts';
import { LIMIT_FIELDS, readEnv, readLimits, readOkExitCodes } from './result.ts';

export interface ContainerPlan {
  readonly image: string;
  readonly options: readonly string[];
  readonly args: readonly string[];
  /** Lines of a file. */
  readonly env: readonly string[];
  readonly limits: Pick<ChildPlan, 'stdin' | 'timeoutMs' | 'maxOutputBytes'>;
  readonly okExitCodes: readonly number[];
}

type Owner = Pick<TaskContext, 'jobId' | 'taskId' | 'fence'>;

const CPUS_MAX = 1_024;

export async function readContainer(input: Json, roots: readonly string[]): Promise<ContainerPlan> {
  const fields = new Fields(input, [
    ...['image', 'command', 'args', 'env', 'mounts', 'network', 'memory', 'cpus', 'workdir'],
    ...['user', ...LIMIT_FIELDS],
  ]);
  // Letters first: a dash would make it an option.
  const image =
    matching(fields, 'image', /^[A-Za-z0-9][\w./:@+-]*$/) ??
    fields.refuse('image', 'This field is required.');
  const memory = matching(fields, 'memory', /^[1-9]\d{0,14}[bkmg]?$/i);
  const user = matching(fields, 'user', /^\w[\w.-]*(:\w[\w.-]*)?$/);
  const workdir = matching(fields, 'workdir', /^\/[^\n]*$/);
  const command = fields.text('command');
  return {
    image,
    options: [
      ...['--network', readNetwork(fields), '--security-opt', 'no-new-privileges'],
      ...option('--memory', memory),
      ...option('--cpus', readCpus(fields)),
      ...option('--user', user),
      ...option('--workdir', workdir),
      ...option('--entrypoint', command),
      ...(await readMounts(fields, roots)),
    ],
    args: fields.texts('args'),
    env: Object.entries(readEnv(fields)).map(([name, value]) => {
      if (/[\r\n]/.test(value))
        fields.refuse(`env/${name}`, 'A value must not contain line breaks.');
      return `${name}=${value}\n`;
    }),
    limits: readLimits(fields),
    okExitCodes: readOkExitCodes(fields),
  };
}

/** Other ids than a container's name may have; two attempts never share one. */
export function containerName({ jobId, taskId, fence }: Owner): string {
  const hash = createHash('sha256').update(`${jobId}/${taskId}/${fence}`).digest('hex');
  return `millrace-${hash.slice(0, 32)}`;
}

export function labelsOf(owner: Owner): readonly string[] {
  return [...ownerPairs(owner), ['millrace.fence', String(owner.fence)]].flatMap(
    ([name, value]) => ['--label', `${name}=${value}`],
  );
}

/** Finds the containers of a task, of whatever attempt. */
export function ownerLabels(owner: Owner): readonly string[] {
  return ownerPairs(owner).flatMap(([name, value]) => ['--filter', `label=${name}=${value}`]);
}

function ownerPairs({ jobId, taskId }: Owner): readonly (readonly [string, string])[] {
  return [
    ['millrace.job', jobId],
    ['millrace.task', taskId],
  ];
}

/** Those of the machine and of other containers would undo the walls. */
function readNetwork(fields: Fields): string {
  const network = matching(fields, 'network', /^[A-Za-z0-9][\w.-]*$/) ?? 'none';
  if (network === 'host') fields.refuse('network', 'The host network is not allowed.');
  return network;
}

function readCpus(fields: Fields): string | undefined {
  const cpus = fields.value('cpus');
  if (cpus === undefined) return undefined;
  if (typeof cpus === 'number' && cpus > 0 && cpus <= CPUS_MAX) return String(cpus);
  return fields.refuse('cpus', `Must be a number above 0 and at most ${CPUS_MAX}.`);
}

async function readMounts(fields: Fields, roots: readonly string[]): Promise<readonly string[]> {
  const mounts: string[] = [];
  for (const [index, value] of (fields.list('mounts') ?? []).entries()) {
    const place = `mounts/${index}`;
    const mount = new Fields(value, ['source', 'target', 'readOnly'], `/${place}`);
    const target = mount.required('target');
    const isReadOnly = mount.value('readOnly') ?? true;
    if (typeof isReadOnly !== 'boolean') mount.refuse('readOnly', 'Must be true or false.');
    if (!isAbsolute(target)) mount.refuse('target', 'Must be an absolute path.');
    const source = await allowedSource(mount.required('source'), roots);
    // The option is a list with commas in which quotes mean something.
    if (/[,"\n]/.test(source + target))
      fields.refuse(place, 'A path must not contain commas, quotes or line breaks.');
    const parts = ['type=bind', `source=${source}`, `target=${target}`];
    mounts.push('--mount', [...parts, ...(isReadOnly ? ['readonly'] : [])].join(','));
  }
  return mounts;
}

/** Links are followed first: what counts is where the folder lies. */
async function allowedSource(source: string, roots: readonly string[]): Promise<string> {
  const real = isAbsolute(source) ? await realpath(source).catch(() => null) : null;
  for (const root of real === null ? [] : roots) {
    const realRoot = await realpath(root).catch(() => null);
    if (real !== null && realRoot !== null && isBelow(real, realRoot)) return real;
  }
  throw new TaskFailure(
    'refused_mount',
    'fatal',
    `${source} is not below a root of this worker. Set roots with --root.`,
  );
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function matching(fields: Fields, name: string, pattern: RegExp): string | undefined {
  const value = fields.value(name);
  const text = typeof value === 'number' ? String(value) : fields.text(name);
  if (text === undefined || pattern.test(text)) return text;
  return fields.refuse(name, `Not a valid ${name} for a container.`);
}

function option(name: string, value: string | undefined): readonly string[] {
  return value === undefined ? [] : [name, value];
}
