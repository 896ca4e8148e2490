import { expect, test } from 'vitest';
import { isMillraceError } from '../core/index.ts';
import { jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { LeaderGateway } from './leader-gateway.ts';

const here = { nodeId: 'a', url: 'http://a', grpc: 'a:1', epoch: 1 };
const there = { nodeId: 'b', url: 'http://b', grpc: 'b:1', epoch: 2 };

test('who does not lead says who does', () => {
  const gateway = new LeaderGateway('a');
  expect(() => gateway.leader()).toThrow('Nobody leads at the moment.');
  gateway.refer(there);
  expect(() => gateway.workers()).toThrow(
    expect.objectContaining({ code: 'not_leader', leader: there }),
  );
  expect(gateway.whoLeads()).toEqual(there);
});

test('a term of its own that is over is nobody to refer to', () => {
  const gateway = new LeaderGateway('a');
  gateway.refer(here);
  expect(gateway.whoLeads()).toBeNull();
});

test('one bad job of several does not sink the others', async () => {
  const clock = new VirtualClock();
  const { leader } = await lead(memoryStore(clock), clock);
  const gateway = new LeaderGateway('a');
  gateway.open(leader, here);
  const good = { tasks: [{ id: 't', executor: 'echo' }] };
  const answers = await gateway.clients().submit([
    { document: good, jobId: jobId('one'), isRepeated: false },
    { document: { tasks: 7 }, jobId: jobId('two'), isRepeated: false },
    { document: good, jobId: jobId('one'), isRepeated: true },
  ]);
  expect(answers[0]).toMatchObject({ id: 'one', changed: true });
  expect(isMillraceError(answers[1], 'bad_input')).toBe(true);
  expect(answers[2]).toMatchObject({ id: 'one', changed: false });
});
