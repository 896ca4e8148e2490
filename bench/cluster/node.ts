/** Millrace's own processes, and jobs submitted to them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { uuidv7 } from 'uuidv7';
import type { JobId } from '../../src/scheduler/core/index.ts';
import { HttpClient } from '../../src/client/index.ts';
import { LeaderChannel } from '../../src/edge/grpc/index.ts';
import { grpcJobs } from '../../test/rig/grpc-jobs.ts';
import type { JobService, NewJob } from '../../src/scheduler/contract/index.ts';
import { freePort } from '../../test/rig/cluster/free-port.ts';
import { inBatches } from './contender.ts';
import { BenchProcess } from './processes.ts';

type Environment = Readonly<Record<string, string>>;

/** Where a node is reached, so that it can be started there again. */
export interface Place {
  readonly port: number;
  readonly grpcPort: number;
  readonly url: string;
  readonly grpc: string;
}

export interface RunningNode extends Place {
  readonly process: BenchProcess;
}

export async function newPlace(): Promise<Place> {
  const port = await freePort();
  const grpcPort = await freePort();
  return { port, grpcPort, url: `http://127.0.0.1:${port}`, grpc: `127.0.0.1:${grpcPort}` };
}

/** A folder for one benchmark's nodes. */
export class Folder {
  readonly path: string = mkdtempSync(join(tmpdir(), 'millrace-bench-'));

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export interface LeaderOptions {
  readonly database: string;
  readonly folder: Folder;
  readonly place?: Place;
  readonly environment?: Environment;
}

/** A node that may lead, or stands by, and executes nothing. */
export async function startLeader(options: LeaderOptions): Promise<RunningNode> {
  const place = options.place ?? (await newPlace());
  const role = ['--role', 'auto', '--slots', '0', '--node-id', `n-${place.port}`];
  const words = ['serve', '--database', options.database, ...role];
  return { ...place, process: await startNode(words, place, options) };
}

/** A node with everything: leader, a worker process of its own, a DuckDB file in the folder. */
export async function startEmbedded(folder: Folder, slots: number): Promise<RunningNode> {
  const place = await newPlace();
  return { ...place, process: await startNode(['up', '--slots', `${slots}`], place, { folder }) };
}

async function startNode(
  words: readonly string[],
  { port, grpcPort }: Place,
  { folder, environment }: Pick<LeaderOptions, 'folder' | 'environment'>,
): Promise<BenchProcess> {
  const ports = ['--port', `${port}`, '--grpc-port', `${grpcPort}`, '--data', folder.path];
  const { process } = await BenchProcess.millrace(
    [...words, ...ports],
    'millrace ready',
    environment,
  );
  return process;
}

export interface WorkerOptions {
  readonly servers: readonly string[];
  readonly nodeId: string;
  readonly slots: number;
  readonly folder: Folder;
  readonly module?: string;
  readonly environment?: Environment;
  /** Further words of its command line. */
  readonly args?: readonly string[];
}

export async function startWorker(options: WorkerOptions): Promise<BenchProcess> {
  const { servers, nodeId, slots, folder, module, environment, args = [] } = options;
  const words = ['worker', '--server', servers.join(','), '--node-id', nodeId];
  const { process } = await BenchProcess.millrace(
    [
      ...[...words, '--slots', `${slots}`, '--data', folder.path],
      ...(module === undefined ? [] : ['--module', module]),
      ...args,
    ],
    'millrace worker ready',
    environment,
  );
  return process;
}

abstract class Submitter {
  abstract submit(documents: readonly unknown[]): Promise<void>;
  abstract close(): void;

  /** The same document so many times. */
  submitMany(count: number, document: unknown): Promise<void> {
    return inBatches(count, (size) => this.submit(Array.from({ length: size }, () => document)));
  }
}

/** Submits jobs with the client that we ship. */
export class HttpSubmitter extends Submitter {
  readonly #client: HttpClient;

  constructor(server: string) {
    super();
    this.#client = new HttpClient({ server });
  }

  async submit(documents: readonly unknown[]): Promise<void> {
    const answers = await this.#client.submitDocuments(documents);
    const refused = answers.find((answer) => answer instanceof Error);
    if (refused !== undefined) throw refused;
  }

  close(): void {
    this.#client.end();
  }
}

/** Submits jobs over gRPC. */
export class GrpcSubmitter extends Submitter {
  readonly #channel: LeaderChannel;
  readonly #jobs: Pick<JobService, 'submitAll'>;

  constructor(addresses: readonly string[]) {
    super();
    this.#channel = new LeaderChannel({ addresses, tls: null });
    this.#jobs = grpcJobs(this.#channel);
  }

  async submit(documents: readonly unknown[]): Promise<void> {
    const jobs = documents.map((document): NewJob => {
      return { document, jobId: uuidv7() as JobId };
    });
    const answers = await this.#jobs.submitAll(jobs);
    const refused = answers.find((answer) => answer instanceof Error);
    if (refused !== undefined) throw refused;
  }

  close(): void {
    this.#channel.close();
  }
}

/** A job of one task. */
export function jobOf(executor: string, input: unknown): object {
  return { tasks: [{ id: 't', executor, input }] };
}
