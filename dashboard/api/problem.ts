/** An error as the API tells it (`application/problem+json`), or the reason why nothing was heard. */
export interface LeaderPlace {
  readonly nodeId: string;
  readonly url: string | null;
  readonly epoch: number;
}

interface ProblemParts {
  readonly code: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly path?: string;
  readonly todo?: string;
  readonly leader?: LeaderPlace | null;
}

export class Problem extends Error {
  readonly code: string;
  readonly title: string;
  /** 0 when the server did not answer. */
  readonly status: number;
  readonly path: string | null;
  readonly todo: string | null;
  readonly leader: LeaderPlace | null;

  constructor(parts: ProblemParts) {
    super(parts.detail);
    this.code = parts.code;
    this.title = parts.title;
    this.status = parts.status;
    this.path = parts.path ?? null;
    this.todo = parts.todo ?? null;
    this.leader = parts.leader ?? null;
  }
}

export async function problemFrom(response: Response): Promise<Problem> {
  const { status } = response;
  try {
    const body = (await response.json()) as Partial<ProblemParts>;
    if (typeof body.code === 'string' && typeof body.detail === 'string') {
      return new Problem({ title: 'Error', ...body, code: body.code, detail: body.detail, status });
    }
  } catch {
    // Not from Millrace: a proxy may have answered.
  }
  return new Problem({
    code: 'unexpected',
    title: 'Unexpected answer',
    status,
    detail: `The server answered ${status} without saying why.`,
  });
}

export function unreachable(): Problem {
  return new Problem({
    code: 'unreachable',
    title: 'Server not reachable',
    status: 0,
    detail: 'The server does not answer.',
    todo: 'The page tries again by itself.',
  });
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem({
    code: 'page_error',
    title: 'Error in the page',
    status: 0,
    detail: error instanceof Error ? error.message : String(error),
    todo: 'Reload the page.',
  });
}

export const isAbort = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'AbortError';
