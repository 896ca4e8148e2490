/** Where the demo takes place: a folder, a node, a shop and three workers, and nothing of it afterwards. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpClient } from '../../client/index.ts';
import { loadConfig } from '../../node/config/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import { ServerNode } from '../../node/server/index.ts';
import { aborted } from '../interruption.ts';
import { pathError } from '../local-path.ts';
import { removeFolder } from '../removed-folder.ts';
import { openOrCreate, storePlace } from '../store-place.ts';
import { Shop, type ShopOptions } from './shop.ts';
import { WorkerProcess } from '../worker-process.ts';

/** Beside this file, compiled or not. */
const MODULE = fileURLToPath(new URL(`./flow${extname(import.meta.url)}`, import.meta.url));
const WORKERS = ['w-1', 'w-2', 'w-3'] as const;
const SLOTS = 2;

export interface StageOptions extends ShopOptions {
  readonly signal: AbortSignal;
  /** Prints the output of the node and the workers. */
  readonly print: (line: string) => void;
}

export interface Stage {
  readonly folder: string;
  readonly url: string;
  readonly client: HttpClient;
  readonly shop: Shop;
  readonly workers: readonly WorkerProcess[];
}

/** An abort rejects with its reason, once everything is gone. */
export async function withStage<T>(
  options: StageOptions,
  play: (stage: Stage) => Promise<T>,
): Promise<T> {
  const builder = new StageBuilder(options);
  // When a second Ctrl-C ends the process on the spot there is no time for more.
  const remove = (): void => builder.removeAtOnce();
  process.once('exit', remove);
  const interruption = aborted(options.signal).then(() => options.signal.throwIfAborted());
  interruption.catch(() => {});
  const played = builder.build().then(play);
  try {
    const result = await Promise.race([played, interruption.then(() => played)]);
    await builder.end();
    return result;
  } finally {
    await builder.tearDown();
    // Whatever it still had to do, such as to give the terminal back.
    await played.catch(() => {});
    process.off('exit', remove);
    remove();
  }
}

class StageBuilder {
  readonly #options: StageOptions;
  readonly #folder: string;
  readonly #workers: WorkerProcess[] = [];
  #node: ServerNode | null = null;
  #shop: Shop | null = null;
  #client: HttpClient | null = null;
  /** Nothing may be added to what is being taken down. */
  #building: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(options: StageOptions) {
    this.#options = options;
    this.#folder = temporaryFolder();
  }

  build(): Promise<Stage> {
    const building = this.#build();
    this.#building = building.catch(() => {});
    return building;
  }

  async #build(): Promise<Stage> {
    const shop = await Shop.open(this.#options);
    this.#shop = shop;
    const node = await this.#startNode();
    this.#node = node;
    await node.ready();
    this.#goOn();
    const { url, grpc } = node.addresses;
    for (const id of WORKERS) this.#workers.push(this.#worker(id, grpc));
    await Promise.all(this.#workers.map((worker) => worker.ready));
    this.#goOn();
    const client = new HttpClient({ server: url });
    this.#client = client;
    return { folder: this.#folder, url, client, shop, workers: [...this.#workers] };
  }

  /** In this order, so that each can still reach what it needs: workers first, the store last. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }

  /** Processes that still run are not wanted any more. */
  async tearDown(): Promise<void> {
    this.#isOver = true;
    for (const worker of this.#workers) worker.killGroup();
    await this.#building;
    for (const worker of this.#workers) worker.killGroup();
    await Promise.all(this.#workers.map((worker) => worker.exited));
    this.#client?.end();
    await this.#node?.stop();
    await this.#shop?.close();
  }

  removeAtOnce(): void {
    for (const worker of this.#workers) worker.killGroup();
    removeFolder(this.#folder);
  }

  #goOn(): void {
    if (this.#isOver)
      throw new MillraceError({ code: 'shutting_down', what: 'The demo has ended.' });
  }

  async #startNode(): Promise<ServerNode> {
    const flags = {
      ...{ role: 'leader', host: '127.0.0.1', port: 0, grpcPort: 0 },
      ...{ nodeId: 'node', slots: 0, data: this.#folder },
    };
    // Neither the environment nor a file of the user: this is not their cluster.
    const config = loadConfig({ flags, folder: this.#folder });
    const { store } = await openOrCreate(storePlace({ data: this.#folder }, {}));
    const say = (line: string): void => {
      // There is only one candidate here.
      if (!line.startsWith('This node is now the leader')) this.#print('node', line);
    };
    return ServerNode.start({ config, store, environment: {}, say }).catch(
      async (error: unknown) => {
        await store.close();
        throw error;
      },
    );
  }

  #worker(id: string, grpc: string): WorkerProcess {
    return new WorkerProcess({
      id,
      flags: [
        ...['--server', grpc, '--slots', `${SLOTS}`, '--module', MODULE],
        ...['--data', join(this.#folder, id), '--allow-private-http'],
      ],
      folder: this.#folder,
      print: (line) => this.#print(id, line),
    });
  }

  #print(who: string, line: string): void {
    if (!this.#isOver) this.#options.print(`${who} | ${line}`);
  }
}

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'millrace-demo-'));
  } catch (error) {
    throw pathError(error, `Cannot write the files of the demo to ${tmpdir()}`);
  }
}
