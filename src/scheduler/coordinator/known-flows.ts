/**
 * The flows that workers have published, by name, and the job documents that are made of them. A flow is remembered
 * from its first registration on, so that it can be started while no worker has it.
 *
 * During a deployment two versions of a flow are there at once. A new job gets the graph of the version that was seen
 * for the first time most recently, among those that a live node has: a worker of the old version that reconnects does
 * not bring its graph back, and a deployment that is rolled back is followed once the last node of the new version is gone.
 */
import {
  FLOWS_CAPABILITY,
  MillraceError,
  didYouMean,
  flowDocument,
  isMillraceError,
  isStartedBy,
  parseFlows,
  schedulesOf,
  startsOf,
  withJobFields,
  writtenStart,
} from '../core/index.ts';
import type { FlowDeclaration, Json, JsonObject, NodeId, Settings } from '../core/index.ts';
import type { FlowService, FlowShape } from '../contract/index.ts';
import type { Store, Term } from '../store/index.ts';

/** As many as a deployment and its roll-back need. */
const VERSIONS_MAX = 4;

/** A node that lives, with the versions of its flows as it has declared them. */
export interface FlowNode {
  readonly id: NodeId;
  readonly flows: readonly string[];
}

export interface KnownFlowsOptions {
  readonly store: Pick<Store, 'declarations' | 'changeDeclarations'>;
  readonly term: Term;
  readonly settings: Pick<Settings, 'inputBytesMax'>;
  readonly nodes: () => readonly FlowNode[];
}

export class KnownFlows implements FlowService {
  readonly #options: KnownFlowsOptions;
  /** The version that was first seen last comes first. */
  readonly #byName: Map<string, readonly FlowDeclaration[]>;
  /** Flows of which a version, perhaps not the current one, is started by the event. Null after a change. */
  #byEvent: ReadonlyMap<string, readonly string[]> | null = null;
  /** Flows of which a version, perhaps not the current one, declares schedules. Null after a change. */
  #scheduling: readonly string[] | null = null;
  /** Removes the schedules that a flow has declared. */
  #onForget: (name: string) => Promise<void> = () => Promise.resolve();
  /** By flow, and by the id of a schedule: why it is not there as it is declared. */
  readonly #notes: Map<string, ReadonlyMap<string, string>> = new Map();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(
    options: KnownFlowsOptions,
    known: readonly (readonly [string, readonly FlowDeclaration[]])[],
  ) {
    this.#options = options;
    this.#byName = new Map(known);
  }

  static async load(options: KnownFlowsOptions): Promise<KnownFlows> {
    const rows = await options.store.declarations(options.term.shard, 'flow');
    return new KnownFlows(
      options,
      rows.map(({ id, declaration }) => [id, versionsIn(declaration)] as const),
    );
  }

  list(): readonly FlowShape[] {
    const nodes = this.#options.nodes();
    const names = [...this.#byName.keys()].toSorted();
    return names.flatMap((name) => {
      const flow = this.#current(name, nodes);
      if (flow === null) return [];
      const having = nodes.filter(({ flows }) => flows.some((each) => each.startsWith(`${name}@`)));
      return [
        {
          name,
          version: flow.version,
          input: flow.input ?? { type: 'null' },
          on: startsOf(flow).map(writtenStart),
          schedules: this.#scheduleShapes(flow),
          nodes: having.map(({ id }) => id),
        },
      ];
    });
  }

  #scheduleShapes(flow: FlowDeclaration): FlowShape['schedules'] & {} {
    const notes = this.#notes.get(flow.name);
    return schedulesOf(flow).map((each) => {
      const id = declaredId(flow.name, each);
      const note = notes?.get(id);
      return { id, ...(note === undefined ? {} : { note }) };
    });
  }

  /** Flows that declare schedules or have done so. */
  get scheduling(): readonly string[] {
    this.#scheduling ??= [...this.#byName]
      .filter(([, versions]) => versions.some((each) => schedulesOf(each).length > 0))
      .map(([name]) => name);
    return this.#scheduling;
  }

  /** The current version of each of these flows, if a live node has it: while none has, nothing changes. */
  live(names: readonly string[]): readonly FlowDeclaration[] {
    const nodes = this.#options.nodes();
    const offered = new Set(nodes.flatMap(({ flows }) => flows));
    return names.flatMap((name) => {
      const flow = this.#current(name, nodes);
      return flow !== null && offered.has(`${name}@${flow.version}`) ? [flow] : [];
    });
  }

  /** What is said of a flow's schedules in `list`. */
  noteSchedules(name: string, notes: ReadonlyMap<string, string>): void {
    this.#notes.set(name, notes);
  }

  onForget(act: (name: string) => Promise<void>): void {
    this.#onForget = act;
  }

  check(name: string): void {
    if (!this.#byName.has(name)) throw this.#unknown(name);
  }

  /** The flows that an event with this data starts now, in the order of their names. */
  listening(event: string, data: () => Json): readonly FlowDeclaration[] {
    const candidates = this.#flowsByEvent().get(event);
    // Asked at the end of each job, and mostly nobody listens.
    if (candidates === undefined) return NONE;
    const nodes = this.#options.nodes();
    const given = data();
    return candidates.toSorted().flatMap((flow) => {
      const current = this.#current(flow, nodes);
      return current !== null && isStartedBy(current, event, given) ? [current] : [];
    });
  }

  /** The flows that the event starts now if its data is as they say. */
  naming(event: string): readonly string[] {
    const nodes = this.#options.nodes();
    const candidates = this.#flowsByEvent().get(event) ?? NONE;
    return candidates.toSorted().filter((name) => {
      const current = this.#current(name, nodes);
      return current !== null && startsOf(current).some((start) => start.event === event);
    });
  }

  /** Those that a flow names. */
  events(): readonly string[] {
    return [...this.#flowsByEvent().keys()];
  }

  #flowsByEvent(): ReadonlyMap<string, readonly string[]> {
    if (this.#byEvent !== null) return this.#byEvent;
    const all = new Map<string, string[]>();
    for (const [name, versions] of this.#byName) {
      for (const event of new Set(
        versions.flatMap((each) => startsOf(each).map((start) => start.event)),
      )) {
        all.set(event, [...(all.get(event) ?? []), name]);
      }
    }
    this.#byEvent = all;
    return all;
  }

  /** Resolves when all of them are stored. Returns the names of flows with a version that was not known. */
  declare(declarations: readonly FlowDeclaration[]): Promise<readonly string[]> {
    if (declarations.length === 0) return Promise.resolve([]);
    return this.#inTurn(async () => {
      const fresh = declarations.filter(({ name, version }) => !this.#knows(name, version));
      if (fresh.length === 0) return [];
      const changed = fresh.map((flow) => {
        const versions = [flow, ...(this.#byName.get(flow.name) ?? [])].slice(0, VERSIONS_MAX);
        return [flow.name, versions] as const;
      });
      await this.#change(
        changed.map(([id, versions]) => ({ id, declaration: JSON.stringify(versions) })),
        [],
      );
      for (const [name, versions] of changed) this.#byName.set(name, versions);
      this.#byEvent = this.#scheduling = null;
      return changed.map(([name]) => name);
    });
  }

  async forget(name: string): Promise<void> {
    await this.#inTurn(async () => {
      this.check(name);
      // First of all: it would be declared by nobody otherwise, and stay.
      await this.#onForget(name);
      await this.#change([], [name]);
      this.#byName.delete(name);
      this.#byEvent = this.#scheduling = null;
    });
  }

  /**
   * What is to be submitted: a document as it is, or the one for `{ flow, input, ... }`. Other fields of that are the
   * job's own. The value is unchecked, and so is the answer, but for the input.
   */
  document(value: unknown, path = ''): unknown {
    if (!isObject(value) || !Object.hasOwn(value, 'flow') || Object.hasOwn(value, 'tasks'))
      return value;
    const { flow: name, input = null, output, ...own } = value;
    if (typeof name !== 'string') throw bad(`${path}/flow`, 'Must be the name of a flow.');
    if (output !== undefined) throw bad(`${path}/output`, 'The flow defines its own output.');
    const flow = this.#current(name, this.#options.nodes());
    if (flow === null) throw this.#unknown(name, 'bad_input', `${path}/flow`);
    const { inputBytesMax } = this.#options.settings;
    const made = flowDocument(flow, input as Json, `${path}/input`, inputBytesMax);
    return withJobFields(made, own);
  }

  #unknown(
    name: string,
    code: 'not_found' | 'bad_input' = 'not_found',
    path?: string,
  ): MillraceError {
    const names = [...this.#byName.keys()];
    return new MillraceError({
      code,
      ...(path === undefined ? {} : { path }),
      what: `There is no flow '${name.slice(0, NAME_MAX)}'.${didYouMean(name, names)}`,
      why: 'A flow is known once a worker with a module that exports it has registered.',
      todo: 'List the flows with `millrace flows`.',
    });
  }

  #knows(name: string, version: string): boolean {
    return this.#byName.get(name)?.some((each) => each.version === version) === true;
  }

  #current(name: string, nodes: readonly FlowNode[]): FlowDeclaration | null {
    const versions = this.#byName.get(name) ?? [];
    const live = versions.find(({ version }) =>
      nodes.some(({ flows }) => flows.includes(`${name}@${version}`)),
    );
    return live ?? versions[0] ?? null;
  }

  #change(
    put: readonly { readonly id: string; readonly declaration: string }[],
    removed: readonly string[],
  ): Promise<void> {
    const { store, term } = this.#options;
    return store.changeDeclarations(term, 'flow', { put, removed });
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

const NAME_MAX = 80;
const NONE: readonly never[] = [];

/** Of one flow, in the order in which they are stored. One that cannot be read, because a server of another version has
 * stored it, is left out until a worker publishes it again: no leader may fail because of it. */
function versionsIn(declaration: string): readonly FlowDeclaration[] {
  const list = JSON.parse(declaration) as readonly unknown[];
  return list.flatMap((each) => {
    try {
      return parseFlows([each]);
    } catch (error) {
      if (isMillraceError(error)) return [];
      throw error;
    }
  });
}

/** The versions that a node lists among its capabilities. */
export function flowsOf(capabilities: Readonly<Record<string, unknown>>): readonly string[] {
  const flows = capabilities[FLOWS_CAPABILITY];
  return Array.isArray(flows) ? (flows as readonly string[]) : [];
}

/** The id of a schedule that the flow declares. What is not text is refused when the schedule is made. */
export function declaredId(flow: string, { id = flow }: JsonObject): string {
  return typeof id === 'string' ? id : JSON.stringify(id);
}

function bad(path: string, what: string): MillraceError {
  return new MillraceError({ code: 'bad_input', path, what });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
