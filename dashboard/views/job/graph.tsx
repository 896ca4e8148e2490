/** The graph of a job: layers from left to right, drawn by hand over a layout that is loaded when it is needed. */
import { type Signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { JobShape } from '../../../src/scheduler/contract/index.ts';
import type { layout as Layout, Placed } from '../../graph-layout.ts';
import { Empty, Glyph, Loading } from '../../parts/marks.tsx';
import { duration, now } from '../../words.ts';
import { type GraphNode, type GraphShape, graphShape } from './graph-shape.ts';
import { stateOfMany, tally } from './groups.ts';

const [WIDTH, HEIGHT] = [188, 46];
/** On a phone a graph grows downwards. */
const NARROW = 820;
/** More is unreadable, and the layout would take long. */
const BOXES_MAX = 400;

export interface GraphProps {
  readonly job: JobShape;
  readonly selected: string | null;
  readonly select: (task: string) => void;
}

/** Null while it is on its way. */
function useLayout(): typeof Layout | 'failed' | null {
  const loaded = useSignal<{ readonly layout: typeof Layout | 'failed' } | null>(null);
  useEffect(() => {
    const address = new URL('graph-layout.js', import.meta.url).href;
    void (import(address) as Promise<{ layout: typeof Layout }>).then(
      ({ layout }) => (loaded.value = { layout }),
      () => (loaded.value = { layout: 'failed' }),
    );
  }, []);
  return loaded.value?.layout ?? null;
}

export function Graph({ job, selected, select }: GraphProps): JSX.Element {
  const layout = useLayout();
  const open = useSignal<ReadonlySet<string>>(new Set());
  const direction = useSignal<'LR' | 'TB'>(innerWidth < NARROW ? 'TB' : 'LR');
  const follows = useSignal(false);
  const search = useSignal('');
  const kept = useRef<{ readonly key: string; readonly placed: Placed } | null>(null);
  const shape = graphShape(job.tasks, open.value);
  if (shape.nodes.length > BOXES_MAX) {
    return (
      <Empty title={`${shape.nodes.length} boxes are too many to draw`}>
        The timeline shows all tasks.
      </Empty>
    );
  }
  if (layout === null) return <Loading />;
  if (layout === 'failed')
    return <Empty title="The graph could not be loaded">Open this tab again.</Empty>;
  const key = JSON.stringify([
    shape.nodes.map(({ id }) => id),
    shape.edges.length,
    direction.value,
  ]);
  // Placed again only when the graph changes its form, not with every change of a state.
  if (kept.current?.key !== key) {
    const boxes = shape.nodes.map(({ id }) => ({ id, width: WIDTH, height: HEIGHT }));
    kept.current = { key, placed: layout(boxes, shape.edges, direction.value) };
  }
  const toggle = (id: string): void => {
    const next = new Set(open.value);
    if (!next.delete(id)) next.add(id);
    open.value = next;
  };
  return (
    <div class="graph">
      <Tools search={search} follows={follows} direction={direction} open={open} />
      <Canvas
        shape={shape}
        placed={kept.current.placed}
        search={search.value.trim()}
        follows={follows.value}
        selected={selected}
        select={select}
        toggle={toggle}
        isAcross={direction.value === 'LR'}
      />
    </div>
  );
}

interface ToolsProps {
  readonly search: Signal<string>;
  readonly follows: Signal<boolean>;
  readonly direction: Signal<'LR' | 'TB'>;
  readonly open: Signal<ReadonlySet<string>>;
}

function Tools({ search, follows, direction, open }: ToolsProps): JSX.Element {
  return (
    <div class="graph-tools">
      <input
        data-search
        type="search"
        aria-label="Search tasks"
        placeholder="Find a task"
        value={search.value}
        onInput={(event) => (search.value = event.currentTarget.value)}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={follows.value}
          onChange={() => (follows.value = !follows.value)}
        />{' '}
        Follow what runs
      </label>
      <button
        type="button"
        class="quiet"
        onClick={() => (direction.value = direction.value === 'LR' ? 'TB' : 'LR')}
      >
        {direction.value === 'LR' ? 'top to bottom' : 'left to right'}
      </button>
      {open.value.size > 0 && (
        <button type="button" class="quiet" onClick={() => (open.value = new Set())}>
          fold all
        </button>
      )}
    </div>
  );
}

interface CanvasProps {
  readonly shape: GraphShape;
  readonly placed: Placed;
  readonly search: string;
  readonly follows: boolean;
  readonly selected: string | null;
  readonly isAcross: boolean;
  readonly select: (task: string) => void;
  readonly toggle: (group: string) => void;
}

function Canvas(props: CanvasProps): JSX.Element {
  const { shape, placed, search, follows, isAcross } = props;
  const box = useRef<HTMLDivElement>(null);
  const running = shape.nodes.find((node) => stateOf(node) === 'running')?.id ?? null;
  const found = search === '' ? null : (shape.nodes.find((node) => fits(node, search))?.id ?? null);
  const target = found ?? (follows ? running : null);
  useEffect(() => {
    const place = target === null ? undefined : placed.boxes.get(target);
    const element = box.current;
    if (place === undefined || element === null) return;
    element.scrollTo({
      left: place.x - element.clientWidth / 2,
      top: place.y - element.clientHeight / 2,
      behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth',
    });
  }, [target]);
  // A wide fan-out is drawn far to both sides of what it starts from: begin there.
  useEffect(() => {
    const first = placed.boxes.get(shape.nodes[0]?.id ?? '');
    const element = box.current;
    if (first === undefined || element === null || target !== null) return;
    element.scrollTo(first.x - element.clientWidth / 2, first.y - element.clientHeight / 2);
  }, [placed]);
  return (
    <div class="canvas" ref={box} tabIndex={0} role="group" aria-label="Graph of tasks">
      <svg width={placed.width} height={placed.height}>
        {placed.lines.map(({ from, to, points }) => (
          <path
            key={`${from} ${to}`}
            class="edge"
            d={curve(betweenSides(placed, from, to, points, isAcross), isAcross)}
          />
        ))}
        {shape.nodes.map((node) => {
          const { x, y } = placed.boxes.get(node.id) ?? { x: 0, y: 0 };
          return (
            <foreignObject
              key={node.id}
              x={x - WIDTH / 2}
              y={y - HEIGHT / 2}
              width={WIDTH}
              height={HEIGHT}
            >
              <NodeBox node={node} props={props} isDim={search !== '' && !fits(node, search)} />
            </foreignObject>
          );
        })}
      </svg>
    </div>
  );
}

const stateOf = (node: GraphNode): string =>
  node.kind === 'task' ? node.task.state : stateOfMany(node.group.tasks);

const fits = (node: GraphNode, search: string): boolean =>
  (node.kind === 'task' ? `${node.task.id} ${node.task.executor}` : node.group.title)
    .toLowerCase()
    .includes(search.toLowerCase());

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Lines leave and reach a box in the middle of its side. */
function betweenSides(
  placed: Placed,
  from: string,
  to: string,
  points: readonly Point[],
  isAcross: boolean,
): readonly Point[] {
  const [start, end] = [placed.boxes.get(from), placed.boxes.get(to)];
  if (start === undefined || end === undefined) return points;
  const [dx, dy] = isAcross ? [WIDTH / 2, 0] : [0, HEIGHT / 2];
  return [
    { x: start.x + dx, y: start.y + dy },
    ...points.slice(1, -1),
    { x: end.x - dx, y: end.y - dy },
  ];
}

function curve(
  points: readonly { readonly x: number; readonly y: number }[],
  isAcross: boolean,
): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  let [path, from] = [`M${first.x} ${first.y}`, first];
  for (const to of rest) {
    path += isAcross
      ? `C${(from.x + to.x) / 2} ${from.y} ${(from.x + to.x) / 2} ${to.y} ${to.x} ${to.y}`
      : `C${from.x} ${(from.y + to.y) / 2} ${to.x} ${(from.y + to.y) / 2} ${to.x} ${to.y}`;
    from = to;
  }
  return path;
}

function NodeBox({
  node,
  props,
  isDim,
}: {
  readonly node: GraphNode;
  readonly props: CanvasProps;
  readonly isDim: boolean;
}): JSX.Element {
  const state = stateOf(node);
  const isTask = node.kind === 'task';
  const isSelected = isTask && node.task.id === props.selected;
  const done = isTask
    ? node.task.progress
    : tally(node.group.tasks).succeeded / node.group.tasks.length;
  const click = (): void => (isTask ? props.select(node.task.id) : props.toggle(node.group.id));
  const shows = state === 'running' || !isTask;
  return (
    <button
      type="button"
      class={`box b-${state} ${isTask ? '' : 'many'} ${isSelected ? 'selected' : ''} ${isDim ? 'dim' : ''}`}
      onClick={click}
      title={isTask ? node.task.id : `Open ${node.group.title}`}
    >
      <Glyph state={state} />
      <span class="box-text">
        <strong>{isTask ? node.task.id : node.group.title}</strong>
        <span>
          {isTask
            ? under(node.task)
            : `${tally(node.group.tasks).succeeded} of ${node.group.tasks.length} done`}
        </span>
      </span>
      {shows && <span class="box-progress" style={{ width: `${done * 100}%` }} />}
    </button>
  );
}

function under(task: JobShape['tasks'][number]): string {
  if (task.startedAt === null || task.state === 'blocked') return task.executor;
  const end = task.finishedAt === null ? now.value : Date.parse(task.finishedAt);
  return `${task.executor} · ${duration(end - Date.parse(task.startedAt))}`;
}
