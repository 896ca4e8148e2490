import type { ClusterNode } from '../rig/cluster/cluster-node.ts';

export interface Seen {
  readonly status: number;
  readonly body: {
    readonly state?: string;
    readonly asOf?: { readonly seq: number; readonly at: string };
    readonly code?: string;
    readonly leader?: { readonly nodeId: string; readonly url: string; readonly epoch: number };
  };
}

export async function ask(node: ClusterNode, path: string, body?: unknown): Promise<Seen> {
  const init = {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
  const answer = await fetch(new URL(path, node.plan.url ?? ''), body === undefined ? {} : init);
  return { status: answer.status, body: (await answer.json()) as Seen['body'] };
}

export const document = (id: string): object => ({ tasks: [{ id, executor: 'note' }] });
