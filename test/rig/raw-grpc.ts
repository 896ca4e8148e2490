/** A client that knows nothing but `proto/`, as a worker in another language would. */
import { join } from 'node:path';
import { credentials, loadPackageDefinition, Metadata } from '@grpc/grpc-js';
import type { Client, ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { onTestFinished } from 'vitest';

/** Whatever a message contains: tests look at it with matchers. These fields are read here. */
export interface Message {
  readonly [field: string]: unknown;
  readonly query_id?: string | undefined;
  readonly stage_id?: number | undefined;
  readonly task_id?: number | undefined;
  readonly attempt?: number | undefined;
  readonly lease?: Message | undefined;
  readonly fence?: number | undefined;
  readonly tasks?: readonly Message[];
  readonly verdicts?: readonly string[];
  readonly status?: { readonly stage_metrics: readonly Message[] };
}

type Method = (
  request: Message,
  metadata: Metadata,
  done: (failure: ServiceError | null, answer?: Message) => void,
) => ClientReadableStream<Message>;

const FOLDER = join(import.meta.dirname, '../../proto');

const loaded = loadPackageDefinition(
  loadSync(
    ['control_plane', 'heartbeat', 'shuffle'].map((name) => `millrace/v1/${name}.proto`),
    {
      includeDirs: [FOLDER],
      keepCase: true,
      longs: Number,
      enums: String,
      defaults: true,
    },
  ),
) as unknown as {
  millrace: {
    v1: Record<
      string,
      new (address: string, credential: unknown) => Client & Record<string, Method>
    >;
  };
};

export class RawGrpc {
  readonly #clients = new Map<string, Client & Record<string, Method>>();
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
    onTestFinished(() => {
      for (const client of this.#clients.values()) client.close();
    });
  }

  #method(name: string): Method {
    const [service = '', method = ''] = name.split('.');
    const Service = loaded.millrace.v1[service];
    if (Service === undefined) throw new Error(`There is no service ${service}.`);
    const client =
      this.#clients.get(service) ?? new Service(this.#address, credentials.createInsecure());
    this.#clients.set(service, client);
    const found = client[method];
    if (found === undefined) throw new Error(`There is no method ${name}.`);
    return found.bind(client);
  }

  /** `ControlPlane.GetTask`. */
  call(name: string, request: Message): Promise<Message> {
    const method = this.#method(name);
    return new Promise((resolve, reject) => {
      method(request, new Metadata(), (failure, answer) => {
        if (failure === null) resolve(answer ?? {});
        else reject(failure);
      });
    });
  }

  async stream(name: string, request: Message): Promise<Message[]> {
    const method = this.#method(name) as unknown as (
      request: Message,
    ) => ClientReadableStream<Message>;
    const all: Message[] = [];
    for await (const message of method(request)) all.push(message as Message);
    return all;
  }
}

/** A session that speaks the protocol by hand. */
export class RawWorker {
  readonly grpc: RawGrpc;
  readonly who: { readonly worker_id: string; readonly session_id: string };
  held: Message[] = [];
  #pollNo = 0;

  constructor(address: string, id: string) {
    this.grpc = new RawGrpc(address);
    this.who = { worker_id: id, session_id: `session of ${id}` };
  }

  register(more: Message = {}): Promise<Message> {
    return this.grpc.call('ControlPlane.RegisterWorker', {
      ...this.who,
      slots: 4,
      executors: ['sql.fragment'],
      protocol_version: 5,
      ...more,
    });
  }

  async tasks(capacity = 4, waitMs = 20_000): Promise<Message[]> {
    this.#pollNo += 1;
    const { tasks = [] } = await this.grpc.call('ControlPlane.GetTask', {
      ...this.who,
      capacity,
      poll_no: this.#pollNo,
      held: this.held,
      wait_ms: waitMs,
    });
    for (const { lease } of tasks) if (lease !== undefined) this.held.push(lease);
    return [...tasks];
  }

  /** One report, as the short form has it. */
  async report(task: Message, state: string, more: Message = {}): Promise<string> {
    const { query_id, stage_id, task_id, attempt, lease } = task;
    const report = { query_id, stage_id, task_id, attempt, lease, state, ...more };
    const answer = await this.grpc.call('ControlPlane.ReportTaskStatus', {
      ...this.who,
      reports: [report],
    });
    return answer.verdicts?.[0] ?? '';
  }

  registerOutput(task: Message, partitions: Message[], more: Message = {}): Promise<Message> {
    return this.grpc.call('ShuffleService.RegisterMapOutput', {
      ...this.keyOf(task),
      map_task: task.task_id,
      partitions,
      ...more,
    });
  }

  registerRows(
    task: Message,
    chunk: number,
    payload: Buffer,
    more: Message = {},
  ): Promise<Message> {
    return this.grpc.call('ControlPlane.RegisterQueryResults', {
      ...this.keyOf(task),
      task_id: task.task_id,
      chunk,
      ipc_payload: payload,
      ...more,
    });
  }

  keyOf({ query_id, stage_id, attempt, lease }: Message): Message {
    return { ...this.who, query_id, stage_id, attempt, fence: lease?.fence ?? 0 };
  }
}
