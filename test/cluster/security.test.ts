import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import type { MethodDefinition, ServiceError } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { ControlPlaneService } from '../../src/edge/grpc/gen/millrace/v1/control_plane.ts';
import { freePort } from '../rig/cluster/free-port.ts';
import { TOKENS, surroundings, tokenFile } from './security-setup.ts';
import { stderrLine } from '../rig/cluster/command.ts';
import { until } from '../rig/until.ts';

type Role = keyof typeof TOKENS;

/** The status of one call, as it is on the wire. */
async function grpcStatus<Q, A>(
  address: string,
  method: MethodDefinition<Q, A>,
  request: Q,
  token: string | null,
): Promise<status> {
  const client = new Client(address, credentials.createInsecure());
  const metadata = new Metadata();
  if (token !== null) metadata.set('authorization', `Bearer ${token}`);
  const { path, requestSerialize, responseDeserialize } = method;
  const answered = await new Promise<ServiceError | null>((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadata,
      resolve,
    );
  });
  client.close();
  return answered?.code ?? status.OK;
}

test('tokens decide who may do what, by HTTP and by gRPC', async () => {
  const { folder, database, log } = await surroundings();
  const [port, grpcPort] = [await freePort(), await freePort()];
  const file = tokenFile(folder);
  const addresses = ['--port', `${port}`, '--grpc-port', `${grpcPort}`, '--slots', '0'];
  const node = log.start(['serve', '--database', database, '--token-file', file, ...addresses]);
  await node.line(/^millrace ready/);
  const url = `http://127.0.0.1:${port}`;
  const grpc = `127.0.0.1:${grpcPort}`;
  const body = JSON.stringify({ tasks: [{ id: 'a', executor: 'echo', input: 1 }] });
  const ask = async (method: string, path: string, token: string | null): Promise<number> => {
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    const headers = { ...authorization, 'content-type': 'application/json' };
    const sent = path === '/api/v1/jobs' && method === 'POST' ? { body } : {};
    const answer = await fetch(new URL(path, url), { method, headers, ...sent });
    await answer.arrayBuffer();
    return answer.status;
  };
  const table: readonly [string, string, Partial<Record<Role, number>>][] = [
    ['GET', '/api/v1/jobs', { admin: 200, submit: 200, read: 200, worker: 403 }],
    ['POST', '/api/v1/jobs', { admin: 201, submit: 201, read: 403, worker: 403 }],
    ['POST', '/api/v1/jobs/nothing/cancel', { admin: 404, submit: 404, read: 403, worker: 403 }],
    ['POST', '/api/v1/nodes/nobody/drain', { admin: 404, submit: 403, read: 403, worker: 403 }],
    ['GET', '/api/v1/events?after=x', { admin: 400, read: 400, worker: 403 }],
    ['GET', '/metrics', { admin: 200, read: 200, worker: 403 }],
  ];
  for (const [method, path, expected] of table) {
    expect(await ask(method, path, null), `${method} ${path}`).toBe(401);
    expect(await ask(method, path, 'a-wrong-token-0123456789'), `wrong, ${path}`).toBe(401);
    for (const [role, code] of Object.entries(expected))
      expect(await ask(method, path, TOKENS[role as Role]), `${path} as ${role}`).toBe(code);
  }
  expect(await ask('GET', '/healthz', null)).toBe(200);

  const { submitJob, cancelJob, getLeader, deregisterWorker } = ControlPlaneService;
  const job = { jobId: 'nothing', reason: '' };
  const { UNAUTHENTICATED, PERMISSION_DENIED } = status;
  expect(await grpcStatus(grpc, submitJob, { jobs: [] }, null)).toBe(UNAUTHENTICATED);
  expect(await grpcStatus(grpc, submitJob, { jobs: [] }, 'wrong')).toBe(UNAUTHENTICATED);
  expect(await grpcStatus(grpc, submitJob, { jobs: [] }, TOKENS.worker)).toBe(PERMISSION_DENIED);
  expect(await grpcStatus(grpc, cancelJob, job, TOKENS.read)).toBe(PERMISSION_DENIED);
  expect(await grpcStatus(grpc, cancelJob, job, TOKENS.submit)).toBe(status.NOT_FOUND);
  expect(await grpcStatus(grpc, getLeader, {}, TOKENS.read)).toBe(status.OK);
  const session = { workerId: 'w', sessionId: 's' };
  expect(await grpcStatus(grpc, deregisterWorker, session, TOKENS.submit)).toBe(PERMISSION_DENIED);

  const work = ['worker', '--server', grpc, '--node-id', 'w-1'];
  const stranger = log.start(work);
  expect(await stranger.exited).toMatchObject({ code: 2 });
  await stderrLine(stranger, /requires a token/);
  const wrong = log.start(work, { MILLRACE_TOKEN: TOKENS.read });
  expect(await wrong.exited).toMatchObject({ code: 2 });
  const worker = log.start(work, { MILLRACE_TOKEN: TOKENS.worker });
  await worker.line(/^millrace worker ready w-1$/);
  const jobs = ['jobs', '--server', url];
  expect(await log.run(jobs)).toMatchObject({ code: 2, out: '' });
  const isDone = async (): Promise<boolean> =>
    (await log.run([...jobs, '--token-file', file])).out.includes('succeeded');
  await until(isDone, 'the jobs to be done');
  for (const each of [worker, node]) expect(await each.stop()).toMatchObject({ code: 0 });
  log.expectSilenceOn(...Object.values(TOKENS));
});
