import { expect, test } from 'vitest';
import { isMillraceError } from '../core/index.ts';
import { jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { LeaderGateway } from './leader-gateway.ts';

const here = { nodeId: 'a', url: 'http://a', grpc: 'a:1', epoch: 1 };
const there = { nodeId: 'b', url: 'http://b', grpc: 'b:1', epoch: 2 };

test('a node that does not lead says who does', () => {
  const gateway = new LeaderGateway('a');
  expect(() => gateway.leader()).toThrow('The cluster has no leader at the moment.');
  gateway.refer(there);
  expect(() => gateway.leader()).toThrow(
    expect.objectContaining({ code: 'not_leader', leader: there }),
  );
  expect(gateway.whoLeads()).toEqual(there);
});

test('does not name its own past term as the leader', () => {
  const gateway = new LeaderGateway('a');
  gateway.refer(here);
  expect(gateway.whoLeads()).toBeNull();
});

test('a refused job of several does not affect the others', async () => {
  const clock = new VirtualClock();
  const { leader } = await lead(memoryStore(clock), clock);
  const gateway = new LeaderGateway('a');
  gateway.open(leader, here);
  const good = { tasks: [{ id: 't', executor: 'echo' }] };
  const answers = await gateway.leader().jobs.submitAll([
    { document: good, jobId: jobId('one') },
    { document: { tasks: 7 }, jobId: jobId('two') },
    { document: good, jobId: jobId('one') },
  ]);
  expect(answers[0]).toMatchObject({ jobId: 'one', changed: true });
  expect(isMillraceError(answers[1], 'bad_input')).toBe(true);
  expect(answers[2]).toMatchObject({ jobId: 'one', changed: false });
});
