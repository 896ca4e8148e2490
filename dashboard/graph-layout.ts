/** Places the boxes of a graph. A separate file, loaded with the first graph. */
import { Graph, layout as place } from '@dagrejs/dagre';

export interface Box {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface Placed {
  readonly width: number;
  readonly height: number;
  /** Centres of the boxes. */
  readonly boxes: ReadonlyMap<string, { readonly x: number; readonly y: number }>;
  readonly lines: readonly {
    readonly from: string;
    readonly to: string;
    readonly points: readonly { readonly x: number; readonly y: number }[];
  }[];
}

export function layout(
  boxes: readonly Box[],
  edges: readonly (readonly [string, string])[],
  direction: 'LR' | 'TB',
): Placed {
  const graph = new Graph();
  graph.setGraph({ rankdir: direction, nodesep: 18, ranksep: 54, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height });
  for (const [from, to] of edges) graph.setEdge(from, to);
  place(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    boxes: new Map(
      boxes.map(({ id }) => {
        const { x, y } = graph.node(id) as { x: number; y: number };
        return [id, { x, y }];
      }),
    ),
    lines: edges.map(([from, to]) => ({
      from,
      to,
      points: (graph.edge(from, to) as { points: { x: number; y: number }[] }).points,
    })),
  };
}
